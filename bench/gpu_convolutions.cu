/* gpu_convolutions.cu - convolutions in their three directions, dense and depthwise
 *
 * This uses cuDNN's older interface, which versions 8 and 9 have. It needs a tenth of
 * the code of the newer graph interface. The algorithm is the one that cuDNN measures
 * as the fastest, among those whose workspace fits. Half precision is channels last, as
 * matrix units require; single precision is channels first, as in frameworks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/gpu_bench.cuh"

#include <stdio.h>

enum {
    N,
    C,
    SIDE,
    K,
    R,
    STRIDE
};

/* Maximum number of algorithms that cuDNN returns. */
#define ALGORITHMS 16

struct conv {
    const struct task *task;
    struct sets sets;
    size_t w; /* offsets in a set, x first */
    size_t y;
    cudnnTensorDescriptor_t x_desc;
    cudnnTensorDescriptor_t y_desc;
    cudnnFilterDescriptor_t w_desc;
    cudnnConvolutionDescriptor_t desc;
    cudnnConvolutionFwdAlgo_t forward;
    cudnnConvolutionBwdDataAlgo_t data;
    cudnnConvolutionBwdFilterAlgo_t weight;
    size_t work;
};

static bool is_depthwise (const struct task *task)
{
    return task->op[0] == 'd';
}

static int out_side (const int d[6])
{
    return (d[SIDE] + 2 * (d[R] / 2) - d[R]) / d[STRIDE] + 1;
}

static int launch_conv (struct gpu *gpu, const void *context, int turn)
{
    const struct conv *v = (const struct conv *) context;
    char *x = set_of (&v->sets, turn);
    char *w = x + v->w;
    char *y = x + v->y;
    const float one = 1;
    const float zero = 0;

    if (v->task->pass == BACKWARD_DATA)
        DNN (gpu,
             cudnnConvolutionBackwardData (gpu->dnn,
                                           &one,
                                           v->w_desc,
                                           w,
                                           v->y_desc,
                                           y,
                                           v->desc,
                                           v->data,
                                           gpu->work,
                                           v->work,
                                           &zero,
                                           v->x_desc,
                                           x));
    else if (v->task->pass == BACKWARD_WEIGHT)
        DNN (gpu,
             cudnnConvolutionBackwardFilter (gpu->dnn,
                                             &one,
                                             v->x_desc,
                                             x,
                                             v->y_desc,
                                             y,
                                             v->desc,
                                             v->weight,
                                             gpu->work,
                                             v->work,
                                             &zero,
                                             v->w_desc,
                                             w));
    else
        DNN (gpu,
             cudnnConvolutionForward (gpu->dnn,
                                      &one,
                                      v->x_desc,
                                      x,
                                      v->w_desc,
                                      w,
                                      v->desc,
                                      v->forward,
                                      gpu->work,
                                      v->work,
                                      &zero,
                                      v->y_desc,
                                      y));
    return 0;
}

/* Take the first result that could be run and whose workspace fits: results are sorted
 * by time. Its math type is used too, except that fp32 stays fp32.
 */
template <typename Result, typename Algorithm>
static int take_best (struct gpu *gpu,
                      struct conv *v,
                      const Result *results,
                      int n,
                      Algorithm *algorithm)
{
    int i = 0;

    while (i < n
           && (results[i].status != CUDNN_STATUS_SUCCESS
               || results[i].memory > gpu->work_size))
        i++;
    if (i == n)
        return gpu_fail (gpu, "cuDNN", "no algorithm for this convolution");
    *algorithm = results[i].algo;
    v->work = results[i].memory;
    if (v->task->precision != FP32)
        DNN (gpu, cudnnSetConvolutionMathType (v->desc, results[i].mathType));
    return 0;
}

static int choose_forward (struct gpu *gpu, struct conv *v)
{
    cudnnConvolutionFwdAlgoPerf_t results[ALGORITHMS];
    char *x = v->sets.base;
    int n = 0;

    DNN (gpu,
         cudnnFindConvolutionForwardAlgorithmEx (gpu->dnn,
                                                 v->x_desc,
                                                 x,
                                                 v->w_desc,
                                                 x + v->w,
                                                 v->desc,
                                                 v->y_desc,
                                                 x + v->y,
                                                 ALGORITHMS,
                                                 &n,
                                                 results,
                                                 gpu->work,
                                                 gpu->work_size));
    return take_best (gpu, v, results, n, &v->forward);
}

static int choose_data (struct gpu *gpu, struct conv *v)
{
    cudnnConvolutionBwdDataAlgoPerf_t results[ALGORITHMS];
    char *x = v->sets.base;
    int n = 0;

    DNN (gpu,
         cudnnFindConvolutionBackwardDataAlgorithmEx (gpu->dnn,
                                                      v->w_desc,
                                                      x + v->w,
                                                      v->y_desc,
                                                      x + v->y,
                                                      v->desc,
                                                      v->x_desc,
                                                      x,
                                                      ALGORITHMS,
                                                      &n,
                                                      results,
                                                      gpu->work,
                                                      gpu->work_size));
    return take_best (gpu, v, results, n, &v->data);
}

static int choose_weight (struct gpu *gpu, struct conv *v)
{
    cudnnConvolutionBwdFilterAlgoPerf_t results[ALGORITHMS];
    char *x = v->sets.base;
    int n = 0;

    DNN (gpu,
         cudnnFindConvolutionBackwardFilterAlgorithmEx (gpu->dnn,
                                                        v->x_desc,
                                                        x,
                                                        v->y_desc,
                                                        x + v->y,
                                                        v->desc,
                                                        v->w_desc,
                                                        x + v->w,
                                                        ALGORITHMS,
                                                        &n,
                                                        results,
                                                        gpu->work,
                                                        gpu->work_size));
    return take_best (gpu, v, results, n, &v->weight);
}

/* Prevents the use of tf32 for fp32. */
static cudnnMathType_t math_type (enum precision precision)
{
    return precision == FP32   ? CUDNN_FMA_MATH
           : precision == TF32 ? CUDNN_DEFAULT_MATH
                               : CUDNN_TENSOR_OP_MATH;
}

static int describe (struct gpu *gpu, struct conv *v)
{
    const int *d = v->task->d;
    enum precision precision = v->task->precision;
    cudnnDataType_t type = dnn_type (precision);
    int groups = is_depthwise (v->task) ? d[C] : 1;
    cudnnTensorFormat_t format =
        size_of (precision) == 2 ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    int side = out_side (d);

    DNN (gpu,
         cudnnSetTensor4dDescriptor (
             v->x_desc, format, type, d[N], d[C], d[SIDE], d[SIDE]));
    DNN (gpu,
         cudnnSetTensor4dDescriptor (v->y_desc, format, type, d[N], d[K], side, side));
    DNN (gpu,
         cudnnSetFilter4dDescriptor (
             v->w_desc, type, format, d[K], d[C] / groups, d[R], d[R]));
    DNN (gpu,
         cudnnSetConvolution2dDescriptor (v->desc,
                                          d[R] / 2,
                                          d[R] / 2,
                                          d[STRIDE],
                                          d[STRIDE],
                                          1,
                                          1,
                                          CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT));
    DNN (gpu, cudnnSetConvolutionGroupCount (v->desc, groups));
    DNN (gpu, cudnnSetConvolutionMathType (v->desc, math_type (precision)));
    return 0;
}

static int time_conv (struct gpu *gpu, struct conv *v, struct dn_gpu_sample *out)
{
    const int *d = v->task->d;
    size_t size = size_of (v->task->precision);
    size_t side = (size_t) out_side (d);
    size_t inputs = is_depthwise (v->task) ? 1 : (size_t) d[C];
    int rc;

    if (describe (gpu, v) < 0)
        return -1;
    v->w = aligned ((size_t) d[N] * (size_t) d[C] * (size_t) d[SIDE] * (size_t) d[SIDE]
                    * size);
    v->y =
        v->w + aligned ((size_t) d[K] * inputs * (size_t) d[R] * (size_t) d[R] * size);
    if (take_sets (gpu,
                   v->task->precision,
                   v->y + aligned ((size_t) d[N] * (size_t) d[K] * side * side * size),
                   &v->sets)
        < 0)
        return -1;
    rc = v->task->pass == BACKWARD_DATA     ? choose_data (gpu, v)
         : v->task->pass == BACKWARD_WEIGHT ? choose_weight (gpu, v)
                                            : choose_forward (gpu, v);
    return rc < 0 ? -1 : measure (gpu, launch_conv, v, out);
}

static int create (struct gpu *gpu, struct conv *v)
{
    DNN (gpu, cudnnCreateTensorDescriptor (&v->x_desc));
    DNN (gpu, cudnnCreateTensorDescriptor (&v->y_desc));
    DNN (gpu, cudnnCreateFilterDescriptor (&v->w_desc));
    DNN (gpu, cudnnCreateConvolutionDescriptor (&v->desc));
    return 0;
}

static int run_conv (struct gpu *gpu,
                     const struct task *task,
                     struct dn_gpu_sample *out)
{
    struct conv v = {};
    int rc;

    v.task = task;
    rc = create (gpu, &v) < 0 ? -1 : time_conv (gpu, &v, out);
    if (v.desc)
        cudnnDestroyConvolutionDescriptor (v.desc);
    if (v.w_desc)
        cudnnDestroyFilterDescriptor (v.w_desc);
    if (v.y_desc)
        cudnnDestroyTensorDescriptor (v.y_desc);
    if (v.x_desc)
        cudnnDestroyTensorDescriptor (v.x_desc);
    return rc;
}

static void add_conv (tasks &all,
                      const char *op,
                      enum precision precision,
                      enum pass pass,
                      const int d[6],
                      bool quick)
{
    double side = out_side (d);
    double inputs = op[0] == 'd' ? 1 : d[C];
    double weights = inputs * d[K] * d[R] * d[R];
    struct task task = {op,
                        run_conv,
                        precision,
                        pass,
                        true,
                        quick,
                        "",
                        {d[0], d[1], d[2], d[3], d[4], d[5]},
                        2 * weights * d[N] * side * side,
                        ((double) d[N] * d[C] * d[SIDE] * d[SIDE] + weights
                         + (double) d[N] * d[K] * side * side)
                            * (double) size_of (precision)};

    snprintf (task.shape,
              sizeof (task.shape),
              "n%d c%d i%d o%d k%d s%d",
              d[N],
              d[C],
              d[SIDE],
              d[K],
              d[R],
              d[STRIDE]);
    all.push_back (task);
}

static void add_directions (tasks &all,
                            const char *op,
                            enum precision precision,
                            const int d[6],
                            bool quick,
                            bool backward)
{
    add_conv (all, op, precision, FORWARD, d, quick);
    if (!backward)
        return;
    add_conv (all, op, precision, BACKWARD_DATA, d, false);
    add_conv (all, op, precision, BACKWARD_WEIGHT, d, false);
}

void add_convolutions (tasks &all, const struct gpu *gpu)
{
    /* Layers of ResNet-50 and VGG-16, and some of them with small batches. */
    static const int dense[][6] = {{64, 64, 56, 64, 3, 1},
                                   {64, 128, 28, 128, 3, 1},
                                   {64, 256, 14, 256, 3, 1},
                                   {64, 512, 7, 512, 3, 1},
                                   {8, 64, 56, 64, 3, 1},
                                   {8, 256, 14, 256, 3, 1},
                                   {1, 64, 56, 64, 3, 1},
                                   {1, 512, 7, 512, 3, 1},
                                   {16, 64, 224, 64, 3, 1},
                                   {32, 256, 56, 256, 3, 1},
                                   {32, 512, 28, 512, 3, 1},
                                   {64, 3, 224, 64, 7, 2},
                                   {64, 64, 56, 256, 1, 1},
                                   {64, 256, 56, 64, 1, 1},
                                   {64, 512, 28, 128, 1, 1},
                                   {64, 1024, 14, 256, 1, 1},
                                   {64, 128, 56, 128, 3, 2}};
    /* Layers of MobileNet and EfficientNet. */
    static const int depthwise[][6] = {{64, 32, 112, 32, 3, 1},
                                       {64, 192, 28, 192, 3, 1},
                                       {64, 576, 14, 576, 3, 1},
                                       {64, 960, 7, 960, 3, 1},
                                       {64, 240, 28, 240, 5, 1}};

    for (int p = 0; p < N_PRECISIONS; p++) {
        enum precision precision = (enum precision) p;

        if (!has_precision (gpu, precision))
            continue;
        for (size_t i = 0; i < sizeof (dense) / sizeof (dense[0]); i++)
            add_directions (all, "conv", precision, dense[i], i < 9, i % 2 == 0);
        for (const int *d : depthwise)
            if (precision != TF32)
                add_directions (all, "depthwise", precision, d, false, true);
    }
}
