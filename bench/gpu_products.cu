/* gpu_products.cu - matrix products, alone, in batches, and as attention
 *
 * cuBLAS is column-major, so a row-major product Y = X W^T of a linear layer is
 * Y^T = W X^T there. fp32 needs no option: cuBLAS uses tf32 only on request.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/gpu_bench.cuh"

#include <math.h>
#include <stdio.h>

static cublasComputeType_t compute_type (enum precision precision)
{
    return precision == TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* --- one product ------------------------------------------------------------------ */

/* Y (m x n) = X (m x k) W^T (k x n), and its gradients; all row-major. */
struct gemm {
    const struct task *task;
    struct sets sets;
    size_t x; /* offsets in a set */
    size_t w;
    size_t y;
};

/* A column-major operand, and the elements from one column to the next. */
struct operand {
    const void *data;
    int stride;
};

/* out = a b in the order of cuBLAS. 'size': its rows, its columns, the inner size. */
struct product {
    cublasOperation_t op_a;
    cublasOperation_t op_b;
    int size[3];
    struct operand a;
    struct operand b;
    void *out;
};

static int multiply_once (struct gpu *gpu,
                          const struct gemm *g,
                          const struct product &p)
{
    cudaDataType_t type = blas_type (g->task->precision);
    const float one = 1;
    const float zero = 0;

    BLAS (gpu,
          cublasGemmEx (gpu->blas,
                        p.op_a,
                        p.op_b,
                        p.size[0],
                        p.size[1],
                        p.size[2],
                        &one,
                        p.a.data,
                        type,
                        p.a.stride,
                        p.b.data,
                        type,
                        p.b.stride,
                        &zero,
                        p.out,
                        type,
                        p.size[0],
                        compute_type (g->task->precision),
                        CUBLAS_GEMM_DEFAULT));
    return 0;
}

static int launch_gemm (struct gpu *gpu, const void *context, int turn)
{
    const struct gemm *g = (const struct gemm *) context;
    const struct task *task = g->task;
    char *set = set_of (&g->sets, turn);
    void *x = set + g->x;
    void *w = set + g->w;
    void *y = set + g->y;
    int m = task->d[0];
    int n = task->d[1];
    int k = task->d[2];

    if (task->pass == BACKWARD_DATA) /* X = Y W */
        return multiply_once (
            gpu, g, {CUBLAS_OP_N, CUBLAS_OP_N, {k, m, n}, {w, k}, {y, n}, x});
    if (task->pass == BACKWARD_WEIGHT) /* W = Y^T X */
        return multiply_once (
            gpu, g, {CUBLAS_OP_N, CUBLAS_OP_T, {k, n, m}, {x, k}, {y, n}, w});
    return multiply_once (
        gpu, g, {CUBLAS_OP_T, CUBLAS_OP_N, {n, m, k}, {w, k}, {x, k}, y});
}

static int run_gemm (struct gpu *gpu,
                     const struct task *task,
                     struct dn_gpu_sample *out)
{
    size_t size = size_of (task->precision);
    size_t m = (size_t) task->d[0];
    size_t n = (size_t) task->d[1];
    size_t k = (size_t) task->d[2];
    struct gemm g = {task, {NULL, 0, 0}, 0, aligned (m * k * size), 0};

    g.y = g.w + aligned (n * k * size);
    if (take_sets (gpu, task->precision, g.y + aligned (m * n * size), &g.sets) < 0)
        return -1;
    return measure (gpu, launch_gemm, &g, out);
}

/* --- a batch ---------------------------------------------------------------------- */

/* C (m x n) = A (m x k) B (k x n), 'batch' times. */
static int multiply (struct gpu *gpu,
                     enum precision precision,
                     bool transposed, /* B is given as n x k */
                     int batch,
                     int m,
                     int n,
                     int k,
                     const void *a,
                     const void *b,
                     void *c)
{
    const float one = 1;
    const float zero = 0;
    cudaDataType_t type = blas_type (precision);

    BLAS (gpu,
          cublasGemmStridedBatchedEx (gpu->blas,
                                      transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                      CUBLAS_OP_N,
                                      n,
                                      m,
                                      k,
                                      &one,
                                      b,
                                      type,
                                      transposed ? k : n,
                                      (long long) k * n,
                                      a,
                                      type,
                                      k,
                                      (long long) m * k,
                                      &zero,
                                      c,
                                      type,
                                      n,
                                      (long long) m * n,
                                      batch,
                                      compute_type (precision),
                                      CUBLAS_GEMM_DEFAULT));
    return 0;
}

static int launch_bmm (struct gpu *gpu, const void *context, int turn)
{
    const struct gemm *g = (const struct gemm *) context;
    const int *d = g->task->d;
    char *set = set_of (&g->sets, turn);

    return multiply (gpu,
                     g->task->precision,
                     false,
                     d[0],
                     d[1],
                     d[2],
                     d[3],
                     set + g->x,
                     set + g->w,
                     set + g->y);
}

static int run_bmm (struct gpu *gpu, const struct task *task, struct dn_gpu_sample *out)
{
    size_t size = size_of (task->precision);
    size_t batch = (size_t) task->d[0];
    size_t m = (size_t) task->d[1];
    size_t n = (size_t) task->d[2];
    size_t k = (size_t) task->d[3];
    struct gemm g = {task, {NULL, 0, 0}, 0, aligned (batch * m * k * size), 0};

    g.y = g.w + aligned (batch * k * n * size);
    if (take_sets (gpu, task->precision, g.y + aligned (batch * m * n * size), &g.sets)
        < 0)
        return -1;
    return measure (gpu, launch_bmm, &g, out);
}

/* --- attention -------------------------------------------------------------------- */

/* Scores, softmax and weighted values as separate kernels, as in frameworks without
 * fusion. Backward: the gradients of values and probabilities, of the softmax, of
 * queries and keys.
 */
struct attention {
    const struct task *task;
    struct sets sets;
    size_t heads;  /* bytes of queries, keys, values or the output */
    size_t scores; /* bytes of scores or probabilities */
    cudnnTensorDescriptor_t rows;
};

static int attend (struct gpu *gpu, const struct attention *a, char *q)
{
    const struct task *task = a->task;
    int batch = task->d[0] * task->d[1];
    int s = task->d[2];
    int d = task->d[3];
    const float one = 1;
    const float zero = 0;
    char *k = q + a->heads;
    char *v = k + a->heads;
    char *o = v + a->heads;
    char *scores = o + a->heads;
    char *p = scores + a->scores;

    if (multiply (gpu, task->precision, true, batch, s, s, d, q, k, scores) < 0)
        return -1;
    DNN (gpu,
         cudnnSoftmaxForward (gpu->dnn,
                              CUDNN_SOFTMAX_ACCURATE,
                              CUDNN_SOFTMAX_MODE_INSTANCE,
                              &one,
                              a->rows,
                              scores,
                              &zero,
                              a->rows,
                              p));
    return multiply (gpu, task->precision, false, batch, s, d, s, p, v, o);
}

/* Transposes do not change a product's time, so those of the gradients are left out:
 * the four products only have the right sizes. Gradients are stored after their
 * operands, so that no launch changes the operands of another.
 */
static int attend_back (struct gpu *gpu, const struct attention *a, char *q)
{
    const struct task *task = a->task;
    int batch = task->d[0] * task->d[1];
    int s = task->d[2];
    int d = task->d[3];
    const float one = 1;
    const float zero = 0;
    char *k = q + a->heads;
    char *v = k + a->heads;
    char *o = v + a->heads;
    char *p = o + a->heads + a->scores;
    char *dq = p + a->scores;
    char *dk = dq + a->heads;
    char *dv = dk + a->heads;
    char *dp = dv + a->heads;
    char *ds = dp + a->scores;

    if (multiply (gpu, task->precision, false, batch, s, d, s, p, o, dv) < 0
        || multiply (gpu, task->precision, true, batch, s, s, d, o, v, dp) < 0)
        return -1;
    DNN (gpu,
         cudnnSoftmaxBackward (gpu->dnn,
                               CUDNN_SOFTMAX_ACCURATE,
                               CUDNN_SOFTMAX_MODE_INSTANCE,
                               &one,
                               a->rows,
                               p,
                               a->rows,
                               dp,
                               &zero,
                               a->rows,
                               ds));
    if (multiply (gpu, task->precision, false, batch, s, d, s, ds, k, dq) < 0)
        return -1;
    return multiply (gpu, task->precision, false, batch, s, d, s, ds, q, dk);
}

static int launch_attention (struct gpu *gpu, const void *context, int turn)
{
    const struct attention *a = (const struct attention *) context;
    char *set = set_of (&a->sets, turn);

    return a->task->pass == FORWARD ? attend (gpu, a, set) : attend_back (gpu, a, set);
}

static int time_attention (struct gpu *gpu,
                           struct attention *a,
                           struct dn_gpu_sample *out)
{
    const struct task *task = a->task;
    int rows = task->d[0] * task->d[1] * task->d[2];

    DNN (gpu,
         cudnnSetTensor4dDescriptor (a->rows,
                                     CUDNN_TENSOR_NCHW,
                                     dnn_type (task->precision),
                                     rows,
                                     task->d[2],
                                     1,
                                     1));
    if (take_sets (gpu, task->precision, 7 * a->heads + 4 * a->scores, &a->sets) < 0)
        return -1;
    return measure (gpu, launch_attention, a, out);
}

static int run_attention (struct gpu *gpu,
                          const struct task *task,
                          struct dn_gpu_sample *out)
{
    size_t size = size_of (task->precision);
    size_t rows = (size_t) task->d[0] * (size_t) task->d[1] * (size_t) task->d[2];
    struct attention a = {task,
                          {NULL, 0, 0},
                          aligned (rows * (size_t) task->d[3] * size),
                          aligned (rows * (size_t) task->d[2] * size),
                          NULL};
    int rc;

    DNN (gpu, cudnnCreateTensorDescriptor (&a.rows));
    rc = time_attention (gpu, &a, out);
    cudnnDestroyTensorDescriptor (a.rows);
    return rc;
}

/* --- the set ---------------------------------------------------------------------- */

static void add_gemm (tasks &all,
                      enum precision precision,
                      enum pass pass,
                      const int d[3],
                      bool quick)
{
    double m = d[0];
    double n = d[1];
    double k = d[2];
    struct task task = {"gemm",
                        run_gemm,
                        precision,
                        pass,
                        true,
                        quick,
                        "",
                        {d[0], d[1], d[2]},
                        2 * m * n * k,
                        (m * k + n * k + m * n) * (double) size_of (precision)};

    snprintf (task.shape, sizeof (task.shape), "m%d n%d k%d", d[0], d[1], d[2]);
    all.push_back (task);
}

static void add_bmm (tasks &all, enum precision precision, const int d[4])
{
    double b = d[0];
    double m = d[1];
    double n = d[2];
    double k = d[3];
    struct task task = {"bmm",
                        run_bmm,
                        precision,
                        FORWARD,
                        true,
                        false,
                        "",
                        {d[0], d[1], d[2], d[3]},
                        2 * b * m * n * k,
                        b * (m * k + n * k + m * n) * (double) size_of (precision)};

    snprintf (
        task.shape, sizeof (task.shape), "b%d m%d n%d k%d", d[0], d[1], d[2], d[3]);
    all.push_back (task);
}

static void add_attention (tasks &all,
                           enum precision precision,
                           enum pass pass,
                           const int d[4])
{
    double rows = (double) d[0] * d[1] * d[2];
    double products = pass == FORWARD ? 2 : 4;
    struct task task = {"attention",
                        run_attention,
                        precision,
                        pass,
                        true,
                        false,
                        "",
                        {d[0], d[1], d[2], d[3]},
                        products * 2 * rows * d[2] * d[3],
                        (2 * products * rows * d[3] + 2 * products * rows * d[2])
                            * (double) size_of (precision)};

    snprintf (
        task.shape, sizeof (task.shape), "b%d h%d s%d d%d", d[0], d[1], d[2], d[3]);
    all.push_back (task);
}

void add_products (tasks &all, const struct gpu *gpu)
{
    /* Rows, outputs, inputs: squares, and layers of BERT, GPT and Llama. */
    static const int gemms[][3] = {{128, 128, 128},
                                   {256, 256, 256},
                                   {512, 512, 512},
                                   {1024, 1024, 1024},
                                   {2048, 2048, 2048},
                                   {4096, 4096, 4096},
                                   {8192, 8192, 8192},
                                   {32, 1024, 1024},
                                   {128, 4096, 1024},
                                   {512, 1024, 4096},
                                   {2048, 768, 768},
                                   {2048, 3072, 768},
                                   {4096, 1024, 4096},
                                   {8192, 4096, 1024},
                                   {16384, 1024, 1024},
                                   {1024, 30522, 768},
                                   {4096, 11008, 4096}};
    static const int bmms[][4] = {{192, 128, 128, 64},
                                  {768, 128, 64, 128},
                                  {96, 512, 512, 64},
                                  {384, 512, 64, 512},
                                  {32, 2048, 2048, 64},
                                  {128, 1024, 1024, 64},
                                  {512, 64, 64, 64}};
    static const int attentions[][4] = {
        {32, 12, 128, 64}, {8, 16, 512, 64}, {4, 16, 1024, 64}, {1, 32, 2048, 128}};

    for (int p = 0; p < N_PRECISIONS; p++) {
        enum precision precision = (enum precision) p;

        if (!has_precision (gpu, precision))
            continue;
        for (size_t i = 0; i < sizeof (gemms) / sizeof (gemms[0]); i++) {
            add_gemm (all, precision, FORWARD, gemms[i], i % 2 == 0);
            if (i % 3 != 0)
                continue;
            add_gemm (all, precision, BACKWARD_DATA, gemms[i], false);
            add_gemm (all, precision, BACKWARD_WEIGHT, gemms[i], false);
        }
        for (const int *d : bmms)
            add_bmm (all, precision, d);
        for (const int *d : attentions) {
            if (precision == TF32)
                continue;
            add_attention (all, precision, FORWARD, d);
            add_attention (all, precision, BACKWARD, d);
        }
    }
}
