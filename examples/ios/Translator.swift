// Translates with translator.tflite: text in, text out, nothing leaves the device.

import Foundation
import TensorFlowLite

struct Translation {
  let text: String
  /// The log-probability of its tokens.
  let score: Float32
  /// Whether the sentence or the translation was cut.
  let truncated: Bool
}

/// A model that is loaded. It has one set of tensors, so calls take turns, off the main thread.
actor Translator {
  private let runner: SignatureRunner
  private let room: Int

  /// Loads a model.
  ///
  /// - Throws: An error of TensorFlowLite if the file is no such model.
  init(modelPath: String, threads: Int) throws {
    var options = Interpreter.Options()
    options.threadCount = threads
    let interpreter = try Interpreter(modelPath: modelPath, options: options)
    let runner = try interpreter.signatureRunner(with: "serving_default")
    room = try runner.input(named: "text").data.count
    self.runner = runner
  }

  /// Translates a sentence, which may be any string; a line break in it is a space.
  func translate(_ sentence: String) throws -> Translation {
    let encoded = Data(sentence.utf8)
    var text = Data(encoded.prefix(room))
    // What stands behind the sentence is not read.
    text.append(Data(count: room - text.count))
    let length = withUnsafeBytes(of: Int32(clamping: encoded.count)) { Data($0) }
    try runner.invoke(with: ["text": text, "length": length])
    let size = try number(runner.output(named: "length"))
    let translation = try runner.output(named: "translation").data.prefix(Int(size))
    let score = try number(runner.output(named: "score"))
    let truncated = try number(runner.output(named: "truncated"))
    return Translation(
      text: String(decoding: translation, as: UTF8.self),
      score: Float32(bitPattern: UInt32(bitPattern: score)),
      truncated: truncated == 1
    )
  }

  /// The four bytes of a tensor that is a single number.
  private func number(_ tensor: Tensor) -> Int32 {
    tensor.data.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) }
  }
}
