/*
 * Translates sentences with an exported SavedModel, through TensorFlow's C API.
 *
 *     translate MODEL_DIR "The dog sleeps." "We sing."
 *     translate MODEL_DIR < source.txt > target.txt
 *
 * Writes one line for each argument or, without arguments, for each line of standard input: the
 * translation, nothing else. TensorFlow logs to standard error, less with TF_CPP_MIN_LOG_LEVEL=2 in
 * the environment. Needs the libraries in the Python wheels of TensorFlow and TensorFlow Text, but
 * no Python.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tensorflow/c/c_api.h>
#include <tensorflow/c/tf_tstring.h>

enum { BATCH_SIZE = 32 };

/* A string or a message that someone else owns; it may hold NUL and does not end with it. */
typedef struct {
    const char *data;
    size_t size;
} Bytes;

typedef struct {
    TF_Graph *graph;
    TF_Session *session;
    TF_Output text;
    TF_Output translation;
} Translator;

static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("translate: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

/* Says what went wrong and what to do, and then what TensorFlow says. */
static void check(const TF_Status *status, const char *problem) {
    if (TF_GetCode(status) != TF_OK) fail("%s\n%s", problem, TF_Message(status));
}

/*
 * The signature's tensors. Their names in the graph are the exporter's affair: an output may be
 * called StatefulPartitionedCall_3:2 today and something else after the next export. What stays is
 * the signature, which the loader hands out as a serialized MetaGraphDef. A protocol buffer is a
 * list of numbered fields, so the few lines below read what is needed of it, without a library.
 */
enum { VARINT = 0, FIXED64 = 1, LENGTH_DELIMITED = 2, FIXED32 = 5 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
/* The numbers of fields in tensorflow/core/protobuf/meta_graph.proto. */
enum { META_GRAPH_SIGNATURES = 5, SIGNATURE_INPUTS = 1, SIGNATURE_OUTPUTS = 2, TENSOR_NAME = 1 };

static uint64_t read_varint(Bytes *message) {
    uint64_t value = 0;
    for (int shift = 0; message->size > 0 && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*message->data++;
        message->size--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    return UINT64_MAX; /* Neither a tag nor a size: `next_field` fails. */
}

/* Moves past the next string or message with that number; false if there is none. */
static bool next_field(Bytes *message, uint64_t number, Bytes *value) {
    while (message->size > 0) {
        uint64_t tag = read_varint(message), size = 0;
        switch (tag & 7) {
            case VARINT: read_varint(message); break;
            case FIXED64: size = 8; break;
            case LENGTH_DELIMITED: size = read_varint(message); break;
            case FIXED32: size = 4; break;
            default: size = UINT64_MAX;
        }
        if (size > message->size) fail("the model's signatures are malformed; export it again");
        *value = (Bytes){message->data, size};
        message->data += size;
        message->size -= size;
        if (tag == (number << 3 | LENGTH_DELIMITED)) return true;
    }
    return false;
}

/* Looks up a key of a map, which is a repeated field of messages with a key and a value. */
static bool find_in_map(Bytes message, uint64_t number, const char *key, Bytes *value) {
    for (Bytes entry, name; next_field(&message, number, &entry);) {
        Bytes rest = entry;
        if (next_field(&rest, MAP_KEY, &name) && name.size == strlen(key) &&
            memcmp(name.data, key, name.size) == 0) {
            return next_field(&entry, MAP_VALUE, value);
        }
    }
    return false;
}

static TF_Output find_tensor(TF_Graph *graph, Bytes meta_graph, uint64_t side, const char *key) {
    Bytes signature, tensor, name;
    if (!find_in_map(meta_graph, META_GRAPH_SIGNATURES, "serving_default", &signature) ||
        !find_in_map(signature, side, key, &tensor) || !next_field(&tensor, TENSOR_NAME, &name)) {
        fail("the signature `serving_default` has no `%s`; export the model with export.py", key);
    }
    char *operation = strndup(name.data, name.size); /* As in "StatefulPartitionedCall_3:2". */
    if (operation == NULL) fail("out of memory");
    char *colon = strrchr(operation, ':');
    if (colon != NULL) *colon = '\0';
    TF_Output output = {TF_GraphOperationByName(graph, operation), colon ? atoi(colon + 1) : 0};
    if (output.oper == NULL) fail("the graph has no `%s`; export the model again", operation);
    free(operation);
    return output;
}

/* Registers the tokenizer's operations, which are TF Text's and not part of TensorFlow. */
static void load_operations(TF_Status *status) {
    const char *path = getenv("TF_TEXT_OPS");
    if (path == NULL) path = DEFAULT_TF_TEXT_OPS;
    TF_Library *library = TF_LoadLibrary(path, status);
    check(status, "cannot load the tokenizer's operations; set TF_TEXT_OPS to the path of "
                  "_sentencepiece_tokenizer.so in this TensorFlow's tensorflow_text");
    TF_DeleteLibraryHandle(library); /* The handle only: the operations stay. */
}

static Translator open_translator(const char *model_dir, TF_Status *status) {
    const char *tags[] = {"serve"};
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Buffer *meta_graph = TF_NewBuffer();
    Translator translator = {.graph = TF_NewGraph()};
    translator.session = TF_LoadSessionFromSavedModel(options, NULL, model_dir, tags, 1,
                                                      translator.graph, meta_graph, status);
    check(status, "cannot load the model; MODEL_DIR must be the folder of a version, which holds "
                  "saved_model.pb, such as exports/demo/1");
    Bytes message = {meta_graph->data, meta_graph->length};
    translator.text = find_tensor(translator.graph, message, SIGNATURE_INPUTS, "text");
    translator.translation =
        find_tensor(translator.graph, message, SIGNATURE_OUTPUTS, "translation");
    TF_DeleteBuffer(meta_graph);
    TF_DeleteSessionOptions(options);
    return translator;
}

static void close_translator(Translator *translator, TF_Status *status) {
    TF_CloseSession(translator->session, status);
    check(status, "cannot close the session");
    TF_DeleteSession(translator->session, status);
    check(status, "cannot delete the session");
    TF_DeleteGraph(translator->graph);
}

static void print_line(const TF_TString *string) {
    const char *data = TF_StringGetDataPointer(string);
    for (size_t i = 0, size = TF_StringGetSize(string); i < size; i++) {
        /* A vocabulary with bytes can say a line end, and a line must stay one. */
        putchar(data[i] == '\n' || data[i] == '\r' ? ' ' : data[i]);
    }
    putchar('\n');
}

/* Translates sentences in one call, as a batch, and prints a line for each. */
static void translate(const Translator *translator, const Bytes *sentences, size_t count,
                      TF_Status *status) {
    int64_t shape[] = {(int64_t)count};
    TF_Tensor *text = TF_AllocateTensor(TF_STRING, shape, 1, count * sizeof(TF_TString));
    if (text == NULL) fail("out of memory");
    TF_TString *strings = TF_TensorData(text);
    for (size_t i = 0; i < count; i++) {
        TF_StringInit(&strings[i]);
        /* A view, not a copy: deleting the tensor would not free the strings in it. */
        TF_StringAssignView(&strings[i], sentences[i].data, sentences[i].size);
    }
    TF_Tensor *translation = NULL;
    TF_SessionRun(translator->session, NULL, &translator->text, &text, 1, &translator->translation,
                  &translation, 1, NULL, 0, NULL, status);
    check(status, "cannot translate");
    if (TF_TensorType(translation) != TF_STRING ||
        TF_TensorElementCount(translation) != (int64_t)count) {
        fail("`translation` must be one string for each of `text`; export the model again");
    }
    const TF_TString *translations = TF_TensorData(translation);
    for (size_t i = 0; i < count; i++) print_line(&translations[i]);
    if (fflush(stdout) != 0 || ferror(stdout)) fail("cannot write; is the disk full?");
    TF_DeleteTensor(translation);
    TF_DeleteTensor(text);
}

static void translate_lines(const Translator *translator, TF_Status *status) {
    /* Batches are faster, but a person who types wants each answer at once. */
    const size_t batch_size = isatty(STDIN_FILENO) ? 1 : BATCH_SIZE;
    char *lines[BATCH_SIZE] = {NULL};
    size_t capacities[BATCH_SIZE] = {0};
    size_t count;
    do {
        Bytes sentences[BATCH_SIZE];
        for (count = 0; count < batch_size; count++) {
            ssize_t size = getline(&lines[count], &capacities[count], stdin);
            if (size < 0) break;
            const char *line = lines[count];
            while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) size--;
            sentences[count] = (Bytes){line, (size_t)size};
        }
        if (count < batch_size && !feof(stdin)) fail("cannot read standard input");
        if (count > 0) translate(translator, sentences, count, status);
    } while (count == batch_size);
    for (size_t i = 0; i < BATCH_SIZE; i++) free(lines[i]);
}

int main(int argc, char **argv) {
    if (argc < 2) fail("usage: translate MODEL_DIR [SENTENCE ...]");
    TF_Status *status = TF_NewStatus();
    load_operations(status);
    Translator translator = open_translator(argv[1], status);
    for (int i = 2; i < argc; i++) {
        translate(&translator, &(Bytes){argv[i], strlen(argv[i])}, 1, status);
    }
    if (argc == 2) translate_lines(&translator, status);
    close_translator(&translator, status);
    TF_DeleteStatus(status);
    return EXIT_SUCCESS;
}
