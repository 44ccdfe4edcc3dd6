// The page is a client of the same routes as any other: it asks for `nbest` of each line, and for
// the attention and the alternatives of the paragraph that is looked at. Whatever comes from
// elsewhere is shown as text.

const PAUSE_MS = 120; // Between a key and the request.
const ROWS = 32; // Most lines of a request: so none of them takes long.

const $ = (id) => document.getElementById(id);

let models = [];
let limits = {}; // Of a request, as the server says.
let chosen = null; // The model.
let found = new Map(); // What is known of each line: its translations, and which one is shown.
let lookedAt = 0; // The paragraph.
let attention = null; // Of the paragraph that is looked at.

/** Runs one piece of work at a time: a new one ends the one before, whose answer is dropped. */
class Latest {
  #controller = new AbortController();

  /** Calls `work` with a signal; an error is shown, unless the work was overtaken. */
  async run(work) {
    this.#controller.abort();
    const { signal } = (this.#controller = new AbortController());
    try {
      await work(signal);
    } catch (error) {
      if (!signal.aborted) showError(error.message);
    }
  }
}

const translating = new Latest();
const attending = new Latest();
const goingOn = new Latest();

async function request(path, signal, body) {
  const options = body ? { method: "POST", body: JSON.stringify(body) } : {};
  let response;
  try {
    response = await fetch(path, { signal, ...options });
  } catch (error) {
    throw signal?.aborted ? error : new Error("The server does not answer.");
  }
  const reply = await response.json().catch(() => ({}));
  signal?.throwIfAborted();
  if (!response.ok) throw new Error(reply.error ?? `The server answers ${response.status}.`);
  return reply;
}

const bodyOf = (signature, instances) => ({ signature_name: signature, instances });

async function predict(signature, instances, signal) {
  const path = `v1/models/${encodeURIComponent(chosen.name)}:predict`;
  return (await request(path, signal, bodyOf(signature, instances))).predictions;
}

const bytesOf = (value) => new TextEncoder().encode(JSON.stringify(value)).length;

/** Divides instances among requests, within the limits; one that is too large goes alone. */
function* requestsOf(signature, instances) {
  const most = Math.min(ROWS, limits.rows, limits.waiting_rows);
  const room = limits.body_bytes - bytesOf(bodyOf(signature, []));
  let part = [];
  let taken = 0;
  for (const instance of instances) {
    const size = bytesOf(instance) + 1; // With the comma.
    if (part.length && (part.length === most || taken + size > room)) {
      yield part;
      part = [];
      taken = 0;
    }
    part.push(instance);
    taken += size;
  }
  if (part.length) yield part;
}

function showError(message) {
  $("error").textContent = `Error: ${message}`;
  $("error").hidden = false;
  $("translation").ariaBusy = "false";
}

const lines = () => $("source").value.split("\n");
const isText = (line) => line.trim() !== "";
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Translates what is not known yet, a moment after the last key. */
function translate() {
  $("translation").ariaBusy = "true";
  return translating.run(async (signal) => {
    await wait(PAUSE_MS);
    signal.throwIfAborted();
    const wanted = new Set(lines().filter(isText));
    const missing = [...wanted].filter((line) => !found.has(line)).map((text) => ({ text }));
    for (const part of requestsOf("nbest", missing)) {
      const rows = await predict("nbest", part, signal);
      rows.forEach((row, i) => found.set(part[i].text, translationsOf(row)));
    }
    // No more is kept than what is on the page.
    found = new Map([...found].filter(([line]) => wanted.has(line)));
    $("error").hidden = true;
    $("translation").ariaBusy = "false";
    showTranslation();
  });
}

/** Returns the translations of a reply's row; there may be fewer than there is room for. */
function translationsOf(row) {
  const all = row.translations.map((text, i) => ({ text, score: row.scores[i] }));
  const [best] = all;
  const different = all.filter((one) => one === best || one.score > -1e38);
  return { all: different, shown: best.text, pieces: row.pieces };
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function showTranslation() {
  const paragraphs = lines().map((line, i) =>
    element("button", {
      type: "button",
      className: "paragraph",
      textContent: found.get(line)?.shown ?? "",
      disabled: !found.has(line),
      onclick: () => lookAt(i),
    }),
  );
  $("translation").replaceChildren(...paragraphs);
  $("translation").classList.toggle("several", lines().filter(isText).length > 1);
  lookAt(lineOfCaret());
}

function lineOfCaret() {
  const { value, selectionStart } = $("source");
  return value.slice(0, selectionStart).split("\n").length - 1;
}

/** Shows all that there is about a paragraph. */
function lookAt(paragraph) {
  lookedAt = paragraph;
  [...$("translation").children].forEach((one, i) => (one.ariaPressed = String(i === paragraph)));
  const several = $("translation").classList.contains("several");
  const number = lines().slice(0, paragraph + 1).filter(isText).length;
  for (const span of document.querySelectorAll(".of-paragraph"))
    span.textContent = several ? `of paragraph ${number}` : "";
  const known = found.get(lines()[paragraph]);
  $("details").hidden = !known;
  $("alternatives").hidden = true;
  goingOn.run(() => {});
  if (!known) return;
  showNBest(known);
  attend();
}

function scored(score, text, properties) {
  const button = element("button", { type: "button", className: "scored", ...properties });
  button.append(element("span", { textContent: score }), text);
  return button;
}

function showNBest(known) {
  const items = known.all.map(({ text, score }) => {
    const button = scored(score.toFixed(2), text, { onclick: () => choose(text) });
    button.title = "Log-probability and translation; click to take it";
    button.ariaPressed = String(text === known.shown);
    return element("li", {}, button);
  });
  $("nbest").replaceChildren(...items);
}

/** Takes another translation of the paragraph that is looked at. */
function choose(text) {
  const known = found.get(lines()[lookedAt]);
  if (!known) return; // The paragraph has changed since.
  known.shown = text;
  const paragraph = lookedAt;
  showTranslation();
  lookAt(paragraph);
}

const has = (signature) => chosen.signatures.includes(signature);

function attend() {
  return attending.run(async (signal) => {
    const text = lines()[lookedAt];
    const translation = found.get(text)?.shown;
    if (translation === undefined) return; // The paragraph has changed since.
    // An export may have neither.
    const signature = ["attention_of_layer", "attention"].find(has);
    $("words").hidden = !signature;
    if (!signature) return;
    const layer = $("layer").selectedIndex;
    const instance = has("attention_of_layer") ? { text, translation, layer } : { text };
    [attention] = await predict(signature, [instance], signal);
    showAttention();
  });
}

function setOptions(select, names, initial) {
  const before = select.options.length === names.length ? select.selectedIndex : initial;
  select.replaceChildren(...names.map((name) => element("option", { textContent: name })));
  select.selectedIndex = before;
}

function showAttention() {
  const numbers = (n) => Array.from({ length: n }, (_, i) => String(i));
  const layers = attention.layers ?? 0;
  $("layer-label").hidden = !layers;
  // The last layer but one tells best what belongs together.
  if (layers && $("layer").options.length !== layers) {
    setOptions($("layer"), numbers(layers), Math.max(layers - 2, 0));
    if ($("layer").selectedIndex !== 0) return attend();
  }
  setOptions($("head"), ["mean", ...numbers(attention.weights.length)], 0);
  const inOne = found.get(lines()[lookedAt])?.pieces === 1;
  const canGoOn = inOne && !attention.truncated && has("alternatives");
  $("alternatives-hint").hidden = !canGoOn;
  $("truncated-hint").hidden = !attention.truncated;
  showTokens("source", attention.source_tokens);
  showTokens("target", attention.target_tokens, canGoOn && goOn);
}

function showTokens(side, tokens, onClick) {
  const buttons = tokens.filter(Boolean).map((token, i) => {
    const begins = token.startsWith("▁");
    const button = element("button", {
      type: "button",
      className: begins ? "token begins" : "token",
      textContent: token === chosen.eos ? "⏎" : token.replace("▁", ""),
      tabIndex: i ? -1 : 0,
      onmouseenter: () => point(side, i),
      onfocus: () => point(side, i),
      onmouseleave: unpoint,
      onblur: unpoint,
      onkeydown: (event) => move(event, button),
    });
    if (token === chosen.eos) button.ariaLabel = "end";
    if (onClick) button.onclick = () => onClick(i);
    return button;
  });
  $(`${side}-words`).replaceChildren(...buttons);
}

/** Returns the weight between a source and a target token, in the head that is chosen. */
function weight(source, target) {
  const head = $("head").selectedIndex - 1;
  const heads = head < 0 ? attention.weights : [attention.weights[head]];
  return heads.reduce((sum, rows) => sum + rows[target][source], 0) / heads.length;
}

/** Shows what a token attends to, or what attends to it. */
function point(side, index) {
  unpoint();
  const other = side === "source" ? "target" : "source";
  $(`${side}-words`).children[index].classList.add("pointed");
  const weights = [...$(`${other}-words`).children].map((token, i) => {
    const value = side === "source" ? weight(index, i) : weight(i, index);
    token.style.setProperty("--weight", value);
    if (value >= 0.005) token.dataset.weight = `${Math.round(100 * value)}%`;
    return { value, text: token.ariaLabel ?? token.textContent };
  });
  const seen = weights.filter(({ value }) => value >= 0.005);
  const largest = seen.sort((a, b) => b.value - a.value).slice(0, 3);
  const told = largest.map(({ text, value }) => `${text} ${Math.round(100 * value)}%`);
  $("weights").textContent = `Attention: ${told.join(", ")}`;
}

function unpoint() {
  for (const token of document.querySelectorAll(".token")) {
    token.classList.remove("pointed");
    token.style.removeProperty("--weight");
    delete token.dataset.weight;
  }
}

/** Moves the focus along the tokens. */
function move(event, token) {
  const all = [...token.parentElement.children];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const next = { Home: all[0], End: all.at(-1) }[event.key] ?? (step && all[all.indexOf(token) + step]);
  if (!next) return;
  event.preventDefault();
  token.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** Joins tokens to text. A character that is no token of its own is spelled in bytes, as <0xC3>. */
function textOf(tokens) {
  const bytes = tokens.flatMap((token) =>
    /^<0x[0-9A-F]{2}>$/.test(token)
      ? Number(token.slice(1, -1))
      : [...new TextEncoder().encode(token.replaceAll("▁", " "))],
  );
  return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
}

/** Shows other ways to go on from a word of the translation. */
function goOn(index) {
  return goingOn.run(async (signal) => {
    const tokens = attention.target_tokens;
    while (index > 0 && !tokens[index].startsWith("▁") && tokens[index] !== chosen.eos) index--;
    const prefix = textOf(tokens.slice(0, index));
    const text = lines()[lookedAt];
    const [row] = await predict("alternatives", [{ text, prefix }], signal);
    const buttons = row.translations.map((translation, i) => {
      const percent = 100 * Math.exp(row.log_probs[i]);
      const shown = percent < 1 ? "<1%" : `${Math.round(percent)}%`;
      return scored(shown, translation, { onclick: () => choose(translation) });
    });
    $("alternatives").replaceChildren(...buttons);
    $("alternatives").hidden = false;
    if (document.activeElement?.matches(".token:focus-visible")) buttons[0]?.focus();
  });
}

function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

function chooseModel() {
  chosen = models[$("model").selectedIndex];
  const [source, target] = chosen.languages ?? ["", ""];
  for (const [side, code] of [["source", source], ["target", target]])
    $(`${side}-language`).textContent = code && languageName(code);
  $("source").lang = source;
  $("translation").lang = target;
  $("layer").replaceChildren();
  const size = chosen.parameters && `${chosen.parameters.toLocaleString("en")} parameters`;
  const facts = [`Model ${chosen.name}`, `version ${chosen.version}`, size];
  $("foot").textContent = facts.filter(Boolean).join(" · ");
  found = new Map();
  translate();
}

async function start() {
  const served = await request("served");
  limits = served.limits;
  models = served.models.filter(({ signatures }) => signatures.includes("nbest"));
  if (!models.length)
    throw new Error("No model here translates; predictions are at /v1/models/NAME:predict.");
  const names = models.map(({ name }) => element("option", { textContent: name }));
  $("model").replaceChildren(...names);
  $("model").onchange = chooseModel;
  $("source").oninput = translate;
  // The caret may have moved to another paragraph.
  document.addEventListener("selectionchange", () => {
    const isHere = document.activeElement === $("source") && $("translation").ariaBusy === "false";
    if (isHere && lineOfCaret() !== lookedAt) lookAt(lineOfCaret());
  });
  $("layer").onchange = attend;
  chooseModel();
}

start().catch((error) => showError(error.message));
