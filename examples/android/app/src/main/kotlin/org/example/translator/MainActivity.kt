// A text field, and below it the translation of what is typed, line by line.

package org.example.translator

import android.app.Activity
import android.os.Bundle
import android.text.Editable
import android.text.TextWatcher
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.TextView
import java.util.concurrent.Executors

class MainActivity : Activity() {
    // One thread owns the translator, so the screen stays free and no two calls meet in it.
    private val worker = Executors.newSingleThreadExecutor()
    private var translator: Translator? = null
    @Volatile private var latest = 0
    private lateinit var shown: TextView

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        val input = EditText(this)
        input.hint = "A sentence a line"
        input.isEnabled = false
        shown = TextView(this)
        shown.text = "Loading …"
        val column = LinearLayout(this)
        column.orientation = LinearLayout.VERTICAL
        column.fitsSystemWindows = true
        column.addView(input)
        column.addView(shown)
        val scroller = ScrollView(this)
        scroller.addView(column)
        setContentView(scroller)
        input.addTextChangedListener(
            object : TextWatcher {
                override fun afterTextChanged(text: Editable) = update(text.toString())

                override fun beforeTextChanged(
                    text: CharSequence,
                    start: Int,
                    count: Int,
                    after: Int,
                ) = Unit

                override fun onTextChanged(
                    text: CharSequence,
                    start: Int,
                    before: Int,
                    count: Int,
                ) = Unit
            }
        )
        inBackground {
            translator = Translator.fromAsset(assets, "translator.tflite", threads = 2)
            runOnUiThread {
                shown.text = ""
                input.isEnabled = true
            }
        }
    }

    private fun update(text: String) {
        val turn = ++latest
        inBackground {
            val lines = mutableListOf<Translation>()
            for (line in text.lines()) {
                if (turn != latest) return@inBackground // There is newer text.
                lines += translator!!.translate(line)
            }
            val note = if (lines.any { it.truncated }) "\n(A line was too long and was cut.)" else ""
            runOnUiThread { shown.text = lines.joinToString("\n") { it.text } + note }
        }
    }

    /** Runs work on the translator's thread; what goes wrong there is shown. */
    private fun inBackground(work: () -> Unit) {
        worker.execute {
            try {
                work()
            } catch (error: Exception) {
                runOnUiThread { shown.text = "Cannot translate: ${error.message}" }
            }
        }
    }

    override fun onDestroy() {
        latest++
        worker.execute { translator?.close() }
        worker.shutdown()
        super.onDestroy()
    }
}
