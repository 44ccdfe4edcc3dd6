/* What translate.c uses of LiteRT's C API (https://ai.google.dev/edge/litert), as libLiteRt.so of
   ai-edge-litert 2.3.0 has it. That package brings the library and no headers; an app that has
   LiteRT's SDK includes litert/c/litert_model.h and its neighbours in place of this file. */

#ifndef LITERT_H_
#define LITERT_H_

#include <stddef.h>
#include <stdint.h>

/* 0 is success. */
typedef int LiteRtStatus;
typedef size_t LiteRtParamIndex;

typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtModelT* LiteRtModel;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtSignatureT* LiteRtSignature;
typedef struct LiteRtTensorT* LiteRtTensor;
typedef struct LiteRtCompiledModelT* LiteRtCompiledModel;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;
typedef struct LiteRtTensorBufferRequirementsT* LiteRtTensorBufferRequirements;

/* Element type, rank, dimensions and strides; passed on and never read here. */
typedef struct {
  _Alignas(8) unsigned char content[128];
} LiteRtRankedTensorType;

enum { kLiteRtHwAcceleratorCpu = 1 };
typedef enum { kLiteRtTensorBufferLockModeRead, kLiteRtTensorBufferLockModeWrite } LiteRtLockMode;

LiteRtStatus LiteRtCreateEnvironment(int num_options, const void* options, LiteRtEnvironment*);
void LiteRtDestroyEnvironment(LiteRtEnvironment);

LiteRtStatus LiteRtCreateModelFromFile(LiteRtEnvironment, const char* filename, LiteRtModel*);
LiteRtStatus LiteRtGetModelSignature(LiteRtModel, LiteRtParamIndex, LiteRtSignature*);
LiteRtStatus LiteRtGetSignatureInputName(LiteRtSignature, LiteRtParamIndex, const char**);
LiteRtStatus LiteRtGetSignatureOutputName(LiteRtSignature, LiteRtParamIndex, const char**);
LiteRtStatus LiteRtGetSignatureInputTensor(LiteRtSignature, const char* name, LiteRtTensor*);
LiteRtStatus LiteRtGetSignatureOutputTensor(LiteRtSignature, const char* name, LiteRtTensor*);
LiteRtStatus LiteRtGetRankedTensorType(LiteRtTensor, LiteRtRankedTensorType*);
void LiteRtDestroyModel(LiteRtModel);

LiteRtStatus LiteRtCreateOptions(LiteRtOptions*);
LiteRtStatus LiteRtSetOptionsHardwareAccelerators(LiteRtOptions, int accelerators);
void LiteRtDestroyOptions(LiteRtOptions);

LiteRtStatus LiteRtCreateCompiledModel(LiteRtEnvironment, LiteRtModel, LiteRtOptions,
                                       LiteRtCompiledModel*);
LiteRtStatus LiteRtGetCompiledModelInputBufferRequirements(LiteRtCompiledModel,
                                                           LiteRtParamIndex signature,
                                                           LiteRtParamIndex input,
                                                           LiteRtTensorBufferRequirements*);
LiteRtStatus LiteRtGetCompiledModelOutputBufferRequirements(LiteRtCompiledModel,
                                                            LiteRtParamIndex signature,
                                                            LiteRtParamIndex output,
                                                            LiteRtTensorBufferRequirements*);
LiteRtStatus LiteRtRunCompiledModel(LiteRtCompiledModel, LiteRtParamIndex signature,
                                    size_t num_inputs, LiteRtTensorBuffer* inputs,
                                    size_t num_outputs, LiteRtTensorBuffer* outputs);
void LiteRtDestroyCompiledModel(LiteRtCompiledModel);

LiteRtStatus LiteRtCreateManagedTensorBufferFromRequirements(LiteRtEnvironment,
                                                             const LiteRtRankedTensorType*,
                                                             LiteRtTensorBufferRequirements,
                                                             LiteRtTensorBuffer*);
LiteRtStatus LiteRtGetTensorBufferPackedSize(LiteRtTensorBuffer, size_t*);
LiteRtStatus LiteRtLockTensorBuffer(LiteRtTensorBuffer, void** memory, LiteRtLockMode);
LiteRtStatus LiteRtUnlockTensorBuffer(LiteRtTensorBuffer);
void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer);

#endif
