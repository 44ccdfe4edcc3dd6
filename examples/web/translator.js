// Translates in the browser with translator.tflite: text in, text out, nothing leaves the page.

import {loadAndCompile, loadLiteRt, Tensor} from '@litertjs/core';

/** What a file of weights is loaded into; `open` makes one. */
export class Translator {
  #model;
  #room;

  constructor(model) {
    this.#model = model;
    const text = model.getInputDetails().find(({name}) => name.includes('text'));
    this.#room = text.shape[0];
  }

  /**
   * Loads the runtime and a model.
   *
   * @param {string} url Of the model.
   * @param {string} runtime Folder of LiteRT's WebAssembly files.
   * @param {(share: number) => void} progress Is told what share of the model is there.
   * @return {Promise<Translator>}
   */
  static async open(url, runtime, progress = () => {}) {
    const [bytes] = await Promise.all([download(url, progress), loadLiteRt(runtime)]);
    return new Translator(await loadAndCompile(bytes, {accelerator: 'wasm'}));
  }

  /**
   * Translates a sentence.
   *
   * @param {string} sentence Any string; a line break is a space.
   * @return {Promise<{translation: string, score: number, truncated: boolean}>} The translation;
   *     its log-probability; whether the sentence, or its translation, was cut.
   */
  async translate(sentence) {
    const text = new Uint8Array(this.#room);
    const encoded = new TextEncoder().encode(sentence);
    text.set(encoded.subarray(0, this.#room));
    // Tensors lie in the runtime's memory and are deleted by hand.
    const inputs = {
      text: new Tensor(text, [this.#room]),
      length: new Tensor(Int32Array.of(encoded.length), [1]),
    };
    let outputs = {};
    try {
      outputs = await this.#model.run(inputs);
      const bytes = outputs.translation.toTypedArray();
      const [length] = outputs.length.toTypedArray();
      return {
        translation: new TextDecoder().decode(bytes.slice(0, length)),
        score: outputs.score.toTypedArray()[0],
        truncated: outputs.truncated.toTypedArray()[0] === 1,
      };
    } finally {
      [...Object.values(inputs), ...Object.values(outputs)].forEach((tensor) => tensor.delete());
    }
  }
}

async function download(url, progress) {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url}: ${response.status} ${response.statusText}`);
  }
  const total = Number(response.headers.get('Content-Length'));
  const parts = [];
  let received = 0;
  for (const reader = response.body.getReader(); ; ) {
    const {done, value} = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    if (total) progress(received / total);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
