// A text field, and below it the translation of what is typed, line by line.

import SwiftUI

@main
struct TranslatorApp: App {
  var body: some Scene {
    WindowGroup { ContentView() }
  }
}

struct ContentView: View {
  @State private var text = ""
  @State private var shown = "Loading …"
  @State private var translator: Translator?

  var body: some View {
    VStack(alignment: .leading) {
      TextEditor(text: $text)
        .disabled(translator == nil)
        .accessibilityLabel("A sentence a line")
      ScrollView {
        Text(shown).frame(maxWidth: .infinity, alignment: .leading)
      }
    }
    .padding()
    .task { await load() }
    // Newer text ends the task of the one before.
    .task(id: text) { await update() }
  }

  private func load() async {
    guard let path = Bundle.main.path(forResource: "translator", ofType: "tflite") else {
      shown = "translator.tflite is not in the app."
      return
    }
    do {
      // To load a model takes a moment, which the screen must not.
      translator = try await Task.detached { try Translator(modelPath: path, threads: 2) }.value
      shown = ""
    } catch {
      shown = "Cannot load the model: \(error)"
    }
  }

  private func update() async {
    guard let translator else { return }
    do {
      var lines: [Translation] = []
      for line in text.components(separatedBy: "\n") {
        lines.append(try await translator.translate(line))
        if Task.isCancelled { return }
      }
      let note = lines.contains(where: \.truncated) ? "\n(A line was too long and was cut.)" : ""
      shown = lines.map(\.text).joined(separator: "\n") + note
    } catch {
      shown = "Cannot translate: \(error)"
    }
  }
}
