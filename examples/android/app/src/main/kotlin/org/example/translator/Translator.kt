// Translates with translator.tflite: text in, text out, nothing leaves the device.

package org.example.translator

import android.content.res.AssetManager
import java.io.Closeable
import java.io.FileInputStream
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import org.tensorflow.lite.Interpreter

/**
 * A translation, the log-probability of its tokens, and whether the sentence or the translation was
 * cut.
 */
data class Translation(val text: String, val score: Float, val truncated: Boolean)

/**
 * A model that is loaded. It has one set of tensors: call it from one thread at a time.
 *
 * @throws IllegalArgumentException if the bytes are no such model.
 */
class Translator(model: ByteBuffer, threads: Int) : Closeable {
    private val interpreter = Interpreter(model, Interpreter.Options().setNumThreads(threads))
    private val text =
        ByteArray(interpreter.getInputTensorFromSignature("text", SIGNATURE).numBytes())
    private val translation =
        ByteArray(interpreter.getOutputTensorFromSignature("translation", SIGNATURE).numBytes())

    /** Translates a sentence, which may be any string; a line break in it is a space. */
    fun translate(sentence: String): Translation {
        val encoded = sentence.toByteArray(Charsets.UTF_8)
        // What stands behind the sentence is not read.
        encoded.copyInto(text, endIndex = minOf(encoded.size, text.size))
        val length = IntArray(1)
        val score = FloatArray(1)
        val truncated = IntArray(1)
        interpreter.runSignature(
            mapOf("text" to text, "length" to intArrayOf(encoded.size)),
            mapOf(
                "translation" to translation,
                "length" to length,
                "score" to score,
                "truncated" to truncated,
            ),
            SIGNATURE,
        )
        val found = String(translation, 0, length[0], Charsets.UTF_8)
        return Translation(found, score[0], truncated[0] == 1)
    }

    override fun close() = interpreter.close()

    companion object {
        private const val SIGNATURE = "serving_default"

        /** Maps a model of the app's assets into memory, where it has to lie uncompressed. */
        fun fromAsset(assets: AssetManager, name: String, threads: Int): Translator {
            val model =
                assets.openFd(name).use { asset ->
                    FileInputStream(asset.fileDescriptor).use { file ->
                        file.channel.map(
                            FileChannel.MapMode.READ_ONLY,
                            asset.startOffset,
                            asset.declaredLength,
                        )
                    }
                }
            return Translator(model, threads)
        }
    }
}
