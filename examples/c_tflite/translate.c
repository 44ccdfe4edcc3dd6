/* Translates lines of standard input with translator.tflite and LiteRT alone, through its C API:

     build/translate exports/app/1/translator.tflite < lines

   A line that was cut because it is too long for the model ends with a note. */

#define _POSIX_C_SOURCE 200809L /* getline */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litert.h"

enum { TEXT, INPUT_LENGTH, NUM_INPUTS };
enum { TRANSLATION, LENGTH, TRUNCATED, SCORE, NUM_OUTPUTS };

static const char* const INPUT_NAMES[NUM_INPUTS] = {"text", "length"};
static const char* const OUTPUT_NAMES[NUM_OUTPUTS] = {"translation", "length", "truncated",
                                                      "score"};

typedef struct {
  LiteRtEnvironment environment;
  LiteRtModel model;
  LiteRtCompiledModel compiled;
  /* In the model's order, and where in it each name is. */
  LiteRtTensorBuffer inputs[NUM_INPUTS], outputs[NUM_OUTPUTS];
  int input_at[NUM_INPUTS], output_at[NUM_OUTPUTS];
} Translator;

static void require(LiteRtStatus status, const char* what) {
  if (status != 0) {
    fprintf(stderr, "translate: %s failed with status %d\n", what, status);
    exit(1);
  }
}

static int index_of(const char* name, const char* const* names, int count) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(name, names[i]) == 0) return i;
  }
  fprintf(stderr, "translate: not a translator.tflite: it has a tensor `%s`\n", name);
  exit(1);
}

static LiteRtTensorBuffer make_buffer(Translator* t, LiteRtTensor tensor,
                                      LiteRtTensorBufferRequirements requirements) {
  LiteRtRankedTensorType type;
  LiteRtTensorBuffer buffer;
  require(LiteRtGetRankedTensorType(tensor, &type), "reading a tensor's type");
  require(LiteRtCreateManagedTensorBufferFromRequirements(t->environment, &type, requirements,
                                                          &buffer),
          "making a buffer");
  return buffer;
}

static void make_buffers(Translator* t) {
  LiteRtSignature signature;
  LiteRtTensorBufferRequirements requirements;
  LiteRtTensor tensor;
  const char* name;
  require(LiteRtGetModelSignature(t->model, 0, &signature), "finding the signature");
  for (int i = 0; i < NUM_INPUTS; ++i) {
    require(LiteRtGetSignatureInputName(signature, i, &name), "naming an input");
    require(LiteRtGetSignatureInputTensor(signature, name, &tensor), "finding an input");
    require(LiteRtGetCompiledModelInputBufferRequirements(t->compiled, 0, i, &requirements),
            "reading what an input needs");
    t->input_at[index_of(name, INPUT_NAMES, NUM_INPUTS)] = i;
    t->inputs[i] = make_buffer(t, tensor, requirements);
  }
  for (int i = 0; i < NUM_OUTPUTS; ++i) {
    require(LiteRtGetSignatureOutputName(signature, i, &name), "naming an output");
    require(LiteRtGetSignatureOutputTensor(signature, name, &tensor), "finding an output");
    require(LiteRtGetCompiledModelOutputBufferRequirements(t->compiled, 0, i, &requirements),
            "reading what an output needs");
    t->output_at[index_of(name, OUTPUT_NAMES, NUM_OUTPUTS)] = i;
    t->outputs[i] = make_buffer(t, tensor, requirements);
  }
}

static void open_translator(Translator* t, const char* path) {
  LiteRtOptions options;
  require(LiteRtCreateEnvironment(0, NULL, &t->environment), "starting LiteRT");
  require(LiteRtCreateModelFromFile(t->environment, path, &t->model), "reading the model");
  require(LiteRtCreateOptions(&options), "making options");
  require(LiteRtSetOptionsHardwareAccelerators(options, kLiteRtHwAcceleratorCpu),
          "choosing the CPU");
  require(LiteRtCreateCompiledModel(t->environment, t->model, options, &t->compiled),
          "preparing the model");
  LiteRtDestroyOptions(options);
  make_buffers(t);
}

static void close_translator(Translator* t) {
  for (int i = 0; i < NUM_INPUTS; ++i) LiteRtDestroyTensorBuffer(t->inputs[i]);
  for (int i = 0; i < NUM_OUTPUTS; ++i) LiteRtDestroyTensorBuffer(t->outputs[i]);
  LiteRtDestroyCompiledModel(t->compiled);
  LiteRtDestroyModel(t->model);
  LiteRtDestroyEnvironment(t->environment);
}

static void write_input(Translator* t, int which, const void* bytes, size_t size) {
  LiteRtTensorBuffer buffer = t->inputs[t->input_at[which]];
  void* memory;
  size_t room;
  require(LiteRtGetTensorBufferPackedSize(buffer, &room), "reading a size");
  require(LiteRtLockTensorBuffer(buffer, &memory, kLiteRtTensorBufferLockModeWrite), "locking");
  memcpy(memory, bytes, size < room ? size : room);
  require(LiteRtUnlockTensorBuffer(buffer), "unlocking");
}

static void read_output(Translator* t, int which, void* bytes, size_t size) {
  LiteRtTensorBuffer buffer = t->outputs[t->output_at[which]];
  void* memory;
  size_t room;
  require(LiteRtGetTensorBufferPackedSize(buffer, &room), "reading a size");
  if (size > room) require(-1, "reading an output");
  require(LiteRtLockTensorBuffer(buffer, &memory, kLiteRtTensorBufferLockModeRead), "locking");
  memcpy(bytes, memory, size);
  require(LiteRtUnlockTensorBuffer(buffer), "unlocking");
}

/* Prints the translation of a text of any bytes. */
static void translate(Translator* t, const char* text, size_t size) {
  int32_t length = size < INT32_MAX ? (int32_t)size : INT32_MAX, truncated;
  char* translation;
  write_input(t, TEXT, text, size);
  write_input(t, INPUT_LENGTH, &length, sizeof length);
  require(LiteRtRunCompiledModel(t->compiled, 0, NUM_INPUTS, t->inputs, NUM_OUTPUTS, t->outputs),
          "translating");
  read_output(t, LENGTH, &length, sizeof length);
  read_output(t, TRUNCATED, &truncated, sizeof truncated);
  if (length < 0) require(-1, "reading a length");
  translation = malloc((size_t)length + 1);
  if (translation == NULL) require(-1, "allocating memory");
  read_output(t, TRANSLATION, translation, (size_t)length);
  fwrite(translation, 1, (size_t)length, stdout);
  puts(truncated ? "  (cut: too long for the model)" : "");
  if (ferror(stdout)) require(-1, "writing");
  free(translation);
}

int main(int argc, char** argv) {
  Translator translator;
  char* line = NULL;
  size_t room = 0;
  ssize_t size;
  if (argc != 2) {
    fprintf(stderr, "usage: translate MODEL.tflite < lines\n");
    return 2;
  }
  open_translator(&translator, argv[1]);
  while ((size = getline(&line, &room, stdin)) != -1) {
    if (size > 0 && line[size - 1] == '\n') --size;
    translate(&translator, line, (size_t)size);
  }
  if (ferror(stdin)) require(-1, "reading standard input");
  if (fflush(stdout) != 0) require(-1, "writing");
  free(line);
  close_translator(&translator);
  return 0;
}
