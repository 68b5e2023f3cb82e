/* gpu_layers.cu - batch normalisation, softmax and recurrent layers, by cuDNN
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/gpu_bench.cuh"

#include <stdio.h>

/* --- batch normalisation ---------------------------------------------------------- */

/* Scale, bias, mean, variance, and the gradients of the first two. */
#define NORM_PARAMETERS 6

struct norm {
    const struct task *task;
    struct sets sets;
    size_t tensor;     /* bytes of x, y, and their gradients */
    size_t parameters; /* bytes of one value per channel */
    cudnnTensorDescriptor_t desc;
    cudnnTensorDescriptor_t channels;
};

/* Running averages are left out, because only evaluation needs them. The values for the
 * backward pass are kept.
 */
static int launch_norm (struct gpu *gpu, const void *context, int turn)
{
    const struct norm *n = (const struct norm *) context;
    const float one = 1;
    const float zero = 0;
    char *x = set_of (&n->sets, turn);
    char *y = x + n->tensor;
    char *dx = y + n->tensor;
    float *scale = (float *) (void *) (dx + n->tensor);
    float *bias = scale + n->parameters / sizeof (float);
    float *mean = bias + n->parameters / sizeof (float);
    float *variance = mean + n->parameters / sizeof (float);
    float *dscale = variance + n->parameters / sizeof (float);
    float *dbias = dscale + n->parameters / sizeof (float);

    if (n->task->pass == FORWARD)
        DNN (gpu,
             cudnnBatchNormalizationForwardTraining (gpu->dnn,
                                                     CUDNN_BATCHNORM_SPATIAL,
                                                     &one,
                                                     &zero,
                                                     n->desc,
                                                     x,
                                                     n->desc,
                                                     y,
                                                     n->channels,
                                                     scale,
                                                     bias,
                                                     1,
                                                     NULL,
                                                     NULL,
                                                     1e-5,
                                                     mean,
                                                     variance));
    else
        DNN (gpu,
             cudnnBatchNormalizationBackward (gpu->dnn,
                                              CUDNN_BATCHNORM_SPATIAL,
                                              &one,
                                              &zero,
                                              &one,
                                              &zero,
                                              n->desc,
                                              x,
                                              n->desc,
                                              y,
                                              n->desc,
                                              dx,
                                              n->channels,
                                              scale,
                                              dscale,
                                              dbias,
                                              1e-5,
                                              mean,
                                              variance));
    return 0;
}

static int time_norm (struct gpu *gpu, struct norm *n, struct dn_gpu_sample *out)
{
    const int *d = n->task->d;
    size_t bytes = 3 * n->tensor + NORM_PARAMETERS * n->parameters;

    DNN (gpu,
         cudnnSetTensor4dDescriptor (n->desc,
                                     CUDNN_TENSOR_NCHW,
                                     dnn_type (n->task->precision),
                                     d[0],
                                     d[1],
                                     d[2],
                                     d[2]));
    DNN (gpu,
         cudnnDeriveBNTensorDescriptor (n->channels, n->desc, CUDNN_BATCHNORM_SPATIAL));
    if (take_sets (gpu, n->task->precision, bytes, &n->sets) < 0)
        return -1;
    /* Scales are single precision for any tensor. */
    for (int i = 0; i < n->sets.n; i++)
        if (fill_random (gpu,
                         FP32,
                         set_of (&n->sets, i) + 3 * n->tensor,
                         NORM_PARAMETERS * n->parameters)
            < 0)
            return -1;
    return measure (gpu, launch_norm, n, out);
}

static int run_norm (struct gpu *gpu,
                     const struct task *task,
                     struct dn_gpu_sample *out)
{
    size_t elements = (size_t) task->d[0] * (size_t) task->d[1] * (size_t) task->d[2]
                      * (size_t) task->d[2];
    struct norm n = {task,
                     {NULL, 0, 0},
                     aligned (elements * size_of (task->precision)),
                     aligned ((size_t) task->d[1] * sizeof (float)),
                     NULL,
                     NULL};
    int rc;

    DNN (gpu, cudnnCreateTensorDescriptor (&n.desc));
    if (cudnnCreateTensorDescriptor (&n.channels) != CUDNN_STATUS_SUCCESS) {
        cudnnDestroyTensorDescriptor (n.desc);
        return gpu_fail (gpu, "cudnnCreateTensorDescriptor", "failed");
    }
    rc = time_norm (gpu, &n, out);
    cudnnDestroyTensorDescriptor (n.channels);
    cudnnDestroyTensorDescriptor (n.desc);
    return rc;
}

/* --- softmax ---------------------------------------------------------------------- */

struct softmax {
    const struct task *task;
    struct sets sets;
    size_t tensor;
    cudnnTensorDescriptor_t desc;
};

static int launch_softmax (struct gpu *gpu, const void *context, int turn)
{
    const struct softmax *s = (const struct softmax *) context;
    const float one = 1;
    const float zero = 0;
    char *x = set_of (&s->sets, turn);

    DNN (gpu,
         cudnnSoftmaxForward (gpu->dnn,
                              CUDNN_SOFTMAX_ACCURATE,
                              CUDNN_SOFTMAX_MODE_INSTANCE,
                              &one,
                              s->desc,
                              x,
                              &zero,
                              s->desc,
                              x + s->tensor));
    return 0;
}

static int time_softmax (struct gpu *gpu, struct softmax *s, struct dn_gpu_sample *out)
{
    DNN (gpu,
         cudnnSetTensor4dDescriptor (s->desc,
                                     CUDNN_TENSOR_NCHW,
                                     dnn_type (s->task->precision),
                                     s->task->d[0],
                                     s->task->d[1],
                                     1,
                                     1));
    if (take_sets (gpu, s->task->precision, 2 * s->tensor, &s->sets) < 0)
        return -1;
    return measure (gpu, launch_softmax, s, out);
}

static int run_softmax (struct gpu *gpu,
                        const struct task *task,
                        struct dn_gpu_sample *out)
{
    size_t elements = (size_t) task->d[0] * (size_t) task->d[1];
    struct softmax s = {
        task, {NULL, 0, 0}, aligned (elements * size_of (task->precision)), NULL};
    int rc;

    DNN (gpu, cudnnCreateTensorDescriptor (&s.desc));
    rc = time_softmax (gpu, &s, out);
    cudnnDestroyTensorDescriptor (s.desc);
    return rc;
}

/* --- recurrent layers ------------------------------------------------------------- */

/* One LSTM layer. Its operands are not rotated, because the time depends mainly on the
 * number of sequential steps. They are consecutive in the pool.
 */
struct lstm {
    const struct task *task;
    cudnnRNNDescriptor_t rnn;
    cudnnDropoutDescriptor_t dropout;
    cudnnRNNDataDescriptor_t data;
    cudnnTensorDescriptor_t state;
    size_t weights; /* bytes of all weights */
    size_t workspace;
    size_t reserve;
    char *x;
    char *y;
    char *dx;
    char *dy;
    char *w;
    char *dw;
    char *kept;       /* the reserve */
    int32_t *lengths; /* on the device */
};

enum {
    BATCH,
    HIDDEN,
    STEPS
};

static int go_forward (struct gpu *gpu, const struct lstm *l)
{
    DNN (gpu,
         cudnnRNNForward (gpu->dnn,
                          l->rnn,
                          CUDNN_FWD_MODE_TRAINING,
                          l->lengths,
                          l->data,
                          l->x,
                          l->data,
                          l->y,
                          l->state,
                          NULL,
                          NULL,
                          l->state,
                          NULL,
                          NULL,
                          l->weights,
                          l->w,
                          l->workspace,
                          gpu->work,
                          l->reserve,
                          l->kept));
    return 0;
}

static int launch_lstm (struct gpu *gpu, const void *context, int turn)
{
    const struct lstm *l = (const struct lstm *) context;

    (void) turn;
    if (l->task->pass == FORWARD)
        return go_forward (gpu, l);
    /* Each launch uses the reserve that the previous one has changed. The numbers are
     * meaningless, but the time is valid. */
    DNN (gpu,
         cudnnRNNBackwardData_v8 (gpu->dnn,
                                  l->rnn,
                                  l->lengths,
                                  l->data,
                                  l->y,
                                  l->dy,
                                  l->data,
                                  l->dx,
                                  l->state,
                                  NULL,
                                  NULL,
                                  NULL,
                                  l->state,
                                  NULL,
                                  NULL,
                                  NULL,
                                  l->weights,
                                  l->w,
                                  l->workspace,
                                  gpu->work,
                                  l->reserve,
                                  l->kept));
    DNN (gpu,
         cudnnRNNBackwardWeights_v8 (gpu->dnn,
                                     l->rnn,
                                     CUDNN_WGRAD_MODE_ADD,
                                     l->lengths,
                                     l->data,
                                     l->x,
                                     l->state,
                                     NULL,
                                     l->data,
                                     l->y,
                                     l->weights,
                                     l->dw,
                                     l->workspace,
                                     gpu->work,
                                     l->reserve,
                                     l->kept));
    return 0;
}

static int describe_lstm (struct gpu *gpu, struct lstm *l)
{
    const int *d = l->task->d;
    std::vector<int> lengths ((size_t) d[BATCH], d[STEPS]);
    cudnnDataType_t type = dnn_type (l->task->precision);
    cudnnMathType_t math =
        l->task->precision == FP32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
    const int dims[3] = {1, d[BATCH], d[HIDDEN]};
    const int strides[3] = {d[BATCH] * d[HIDDEN], d[HIDDEN], 1};

    DNN (gpu, cudnnSetDropoutDescriptor (l->dropout, gpu->dnn, 0, NULL, 0, 1));
    DNN (gpu,
         cudnnSetRNNDescriptor_v8 (l->rnn,
                                   CUDNN_RNN_ALGO_STANDARD,
                                   CUDNN_LSTM,
                                   CUDNN_RNN_DOUBLE_BIAS,
                                   CUDNN_UNIDIRECTIONAL,
                                   CUDNN_LINEAR_INPUT,
                                   type,
                                   CUDNN_DATA_FLOAT,
                                   math,
                                   d[HIDDEN],
                                   d[HIDDEN],
                                   d[HIDDEN],
                                   1,
                                   l->dropout,
                                   CUDNN_RNN_PADDED_IO_ENABLED));
    DNN (gpu,
         cudnnSetRNNDataDescriptor (l->data,
                                    type,
                                    CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                    d[STEPS],
                                    d[BATCH],
                                    d[HIDDEN],
                                    lengths.data (),
                                    NULL));
    DNN (gpu, cudnnSetTensorNdDescriptor (l->state, type, 3, dims, strides));
    DNN (gpu, cudnnGetRNNWeightSpaceSize (gpu->dnn, l->rnn, &l->weights));
    DNN (gpu,
         cudnnGetRNNTempSpaceSizes (gpu->dnn,
                                    l->rnn,
                                    CUDNN_FWD_MODE_TRAINING,
                                    l->data,
                                    &l->workspace,
                                    &l->reserve));
    if (l->workspace > gpu->work_size)
        return gpu_fail (gpu, "workspace", "larger than the available memory");
    return 0;
}

/* Place in the pool: x, y and their gradients, the weights and their gradients, the
 * reserve, and the lengths.
 */
static int place_lstm (struct gpu *gpu, struct lstm *l)
{
    const int *d = l->task->d;
    std::vector<int32_t> lengths ((size_t) d[BATCH], d[STEPS]);
    size_t tensor = aligned ((size_t) d[BATCH] * (size_t) d[STEPS] * (size_t) d[HIDDEN]
                             * size_of (l->task->precision));
    size_t weights = aligned (l->weights);
    size_t reserve = aligned (l->reserve);
    size_t list = lengths.size () * sizeof (int32_t);
    struct sets sets;

    if (take_sets (gpu,
                   l->task->precision,
                   4 * tensor + 2 * weights + reserve + aligned (list),
                   &sets)
        < 0)
        return -1;
    l->x = sets.base;
    l->y = l->x + tensor;
    l->dx = l->y + tensor;
    l->dy = l->dx + tensor;
    l->w = l->dy + tensor;
    l->dw = l->w + weights;
    l->kept = l->dw + weights;
    l->lengths = (int32_t *) (void *) (l->kept + reserve);
    CUDA (gpu,
          cudaMemcpyAsync (
              l->lengths, lengths.data (), list, cudaMemcpyHostToDevice, gpu->stream));
    CUDA (gpu, cudaStreamSynchronize (gpu->stream));
    return 0;
}

static int time_lstm (struct gpu *gpu, struct lstm *l, struct dn_gpu_sample *out)
{
    if (describe_lstm (gpu, l) < 0 || place_lstm (gpu, l) < 0)
        return -1;
    /* The backward pass reads the results of the forward pass. */
    if (l->task->pass != FORWARD && go_forward (gpu, l) < 0)
        return -1;
    return measure (gpu, launch_lstm, l, out);
}

static int create_lstm (struct gpu *gpu, struct lstm *l)
{
    DNN (gpu, cudnnCreateRNNDescriptor (&l->rnn));
    DNN (gpu, cudnnCreateDropoutDescriptor (&l->dropout));
    DNN (gpu, cudnnCreateRNNDataDescriptor (&l->data));
    DNN (gpu, cudnnCreateTensorDescriptor (&l->state));
    return 0;
}

static int run_lstm (struct gpu *gpu,
                     const struct task *task,
                     struct dn_gpu_sample *out)
{
    struct lstm l = {};
    int rc;

    l.task = task;
    rc = create_lstm (gpu, &l) < 0 ? -1 : time_lstm (gpu, &l, out);
    /* No kernel may still use the descriptors that are freed. */
    (void) cudaStreamSynchronize (gpu->stream);
    if (l.state)
        cudnnDestroyTensorDescriptor (l.state);
    if (l.data)
        cudnnDestroyRNNDataDescriptor (l.data);
    if (l.dropout)
        cudnnDestroyDropoutDescriptor (l.dropout);
    if (l.rnn)
        cudnnDestroyRNNDescriptor (l.rnn);
    return rc;
}

/* --- the set ---------------------------------------------------------------------- */

static void add_norm (tasks &all,
                      enum precision precision,
                      enum pass pass,
                      const int d[3])
{
    double bytes = (double) d[0] * d[1] * d[2] * d[2] * (double) size_of (precision);
    struct task task = {"norm",
                        run_norm,
                        precision,
                        pass,
                        true,
                        false,
                        "",
                        {d[0], d[1], d[2]},
                        0,
                        (pass == FORWARD ? 3 : 5) * bytes};

    snprintf (task.shape, sizeof (task.shape), "batch n%d c%d i%d", d[0], d[1], d[2]);
    all.push_back (task);
}

static void add_softmax (tasks &all, enum precision precision, const int d[2])
{
    struct task task = {"softmax",
                        run_softmax,
                        precision,
                        FORWARD,
                        true,
                        false,
                        "",
                        {d[0], d[1]},
                        0,
                        2.0 * d[0] * d[1] * (double) size_of (precision)};

    snprintf (task.shape, sizeof (task.shape), "r%d w%d", d[0], d[1]);
    all.push_back (task);
}

/* Eight products of inputs and of states with their weights per step. */
static void add_lstm (tasks &all,
                      enum precision precision,
                      enum pass pass,
                      const int d[3],
                      bool quick)
{
    double weights = 8.0 * d[HIDDEN] * d[HIDDEN];
    double products = (pass == FORWARD ? 2 : 4) * weights;
    struct task task = {"rnn",
                        run_lstm,
                        precision,
                        pass,
                        true,
                        quick,
                        "",
                        {d[0], d[1], d[2]},
                        products * d[BATCH] * d[STEPS],
                        (weights + 2.0 * d[BATCH] * d[STEPS] * d[HIDDEN])
                            * (double) size_of (precision)};

    snprintf (task.shape,
              sizeof (task.shape),
              "lstm n%d h%d t%d",
              d[BATCH],
              d[HIDDEN],
              d[STEPS]);
    all.push_back (task);
}

void add_layers (tasks &all, const struct gpu *gpu)
{
    static const int norms[][3] = {
        {64, 64, 112}, {64, 256, 56}, {64, 512, 28}, {64, 1024, 14}, {64, 2048, 7}};
    static const int softmaxes[][2] = {
        {6144, 128}, {49152, 128}, {65536, 512}, {16384, 2048}};
    static const int lstms[][3] = {
        {16, 64, 32}, {16, 64, 256}, {64, 512, 64}, {64, 1024, 64}};

    for (int p = 0; p < N_PRECISIONS; p++) {
        enum precision precision = (enum precision) p;

        if (precision == TF32 || !has_precision (gpu, precision))
            continue;
        for (const int *d : norms) {
            add_norm (all, precision, FORWARD, d);
            add_norm (all, precision, BACKWARD, d);
        }
        for (const int *d : softmaxes)
            add_softmax (all, precision, d);
        for (size_t i = 0; i < sizeof (lstms) / sizeof (lstms[0]); i++) {
            if (precision == BF16)
                continue;
            add_lstm (all, precision, FORWARD, lstms[i], i < 2);
            add_lstm (all, precision, BACKWARD, lstms[i], false);
        }
    }
}
