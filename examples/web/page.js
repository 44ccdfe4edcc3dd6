// The page: translates what is typed, line by line, and tells how long it took.

import {Translator} from './translator.js';

const [text, progress, translation, note] = ['text', 'progress', 'translation', 'note'].map((id) =>
  document.getElementById(id),
);

/** Has a worker keep the files, so that the page works without a network from then on. */
async function keepFiles() {
  const workers = navigator.serviceWorker;
  if (!workers) return; // The page was not served by https or from this machine.
  const registration = await workers.register('worker.js');
  // After a forced reload the worker is there and does not take over.
  if (!workers.controller && !registration.active) {
    const worker = registration.installing ?? registration.waiting;
    await new Promise((resolve) => {
      workers.addEventListener('controllerchange', resolve);
      worker.addEventListener('statechange', () => worker.state === 'redundant' && resolve());
    });
  }
}

async function main() {
  await keepFiles().catch(() => {}); // It translates without them.
  const translator = await Translator.open('translator.tflite', './litert/', (share) => {
    progress.value = share;
  });
  progress.hidden = true;
  note.textContent = 'Ready.';
  text.disabled = false;

  let latest = 0;
  const update = async () => {
    const turn = ++latest;
    const start = performance.now();
    const translations = [];
    for (const line of text.value.split('\n')) {
      translations.push(await translator.translate(line));
      if (turn !== latest) return; // There is newer text.
    }
    translation.textContent = translations.map((one) => one.translation).join('\n');
    const cut = translations.some((one) => one.truncated) ? ' A line was too long and was cut.' : '';
    note.textContent = `${(performance.now() - start).toFixed(1)} ms.${cut}`;
  };
  text.addEventListener('input', () => update().catch((error) => {
    note.textContent = `Cannot translate: ${error.message}`;
  }));
}

main().catch((error) => {
  progress.hidden = true;
  note.textContent = `This browser cannot translate: ${error.message}`;
});
