/* hlo_cost.c - operations of HLO instructions, counted as XLA's own cost analysis does
 *
 * A computation's cost is the sum over its instructions, and an instruction that calls
 * a computation costs what that computation costs. One pass in the order of the text,
 * in which callees come first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hlo_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/hlo_attend.h"

/* Limit of the steps that all windows of a module take together. Windows beyond it are
 * counted without regard to padding.
 */
#define WORK_MAX 1e9

/* Spatial dimensions of a window. */
#define SPACE_MAX 8

/* Limit of the operations of one module, far above those of any network. */
#define FLOPS_MAX 1e30

static const struct dn_hlo_array *operand_array (const struct dn_hlo *module,
                                                 const struct dn_hlo_instruction *user,
                                                 int i)
{
    const struct dn_hlo_instruction *operand;

    if (i >= user->n_operands)
        return NULL;
    operand = dn_hlo_at (module, dn_hlo_operand (module, user, i));
    return operand->n_arrays > 0 ? dn_hlo_result (module, operand, 0) : NULL;
}

static double elements_of (const struct dn_hlo *module,
                           const struct dn_hlo_array *array)
{
    return array ? dn_hlo_elements (module, array) : 0;
}

static double out_elements (const struct dn_hlo *module,
                            const struct dn_hlo_instruction *instruction)
{
    return instruction->n_arrays > 0
               ? dn_hlo_elements (module, dn_hlo_result (module, instruction, 0))
               : 0;
}

/* The product of the dimensions that 'list' names, -1 if one is out of range. */
static double dims_of (const struct dn_hlo *module,
                       const struct dn_hlo_array *array,
                       struct dn_span list)
{
    const int64_t *dims = dn_hlo_dims (module, array);
    int64_t places[DN_HLO_RANK_MAX];
    int n = dn_hlo_numbers (list, places, DN_HLO_RANK_MAX);
    double product = 1;

    for (int i = 0; i < n; i++) {
        if (places[i] < 0 || places[i] >= array->rank)
            return -1;
        product *= (double) dims[places[i]];
    }
    return product;
}

static bool read_dot (const struct dn_hlo *module,
                      const struct dn_hlo_instruction *dot,
                      struct dn_hlo_product *p)
{
    p->k = dims_of (module, p->lhs, dn_hlo_attribute (dot, "lhs_contracting_dims"));
    p->batches = dims_of (module, p->lhs, dn_hlo_attribute (dot, "lhs_batch_dims"));
    if (!(p->k > 0) || !(p->batches > 0))
        return false;
    p->m = elements_of (module, p->lhs) / (p->k * p->batches);
    p->n = elements_of (module, p->rhs) / (p->k * p->batches);
    p->flops = 2 * elements_of (module, p->out) * p->k;
    return true;
}

/* A matrix product by a library: lhs (b, m, k), rhs (b, k, n) and out (b, m, n) give
 * all sizes, whichever of them is transposed.
 */
static bool read_library_dot (const struct dn_hlo *module, struct dn_hlo_product *p)
{
    const int64_t *dims = dn_hlo_dims (module, p->out);
    double lhs = elements_of (module, p->lhs);
    double rhs = elements_of (module, p->rhs);
    double out = elements_of (module, p->out);

    p->batches = 1;
    for (int i = 0; i + 2 < p->out->rank; i++)
        p->batches *= (double) dims[i];
    if (!(out > 0) || !(p->batches > 0) || !(lhs > 0) || !(rhs > 0))
        return false;
    if (p->out->rank > 2 && p->rhs->rank == 2) { /* weights, for all of the batch */
        p->batches = 1;
    }
    p->k = fmax (1, round (sqrt (lhs * rhs / (out * p->batches))));
    p->m = lhs / (p->k * p->batches);
    p->n = rhs / (p->k * p->batches);
    p->flops = 2 * out * p->k;
    return true;
}

/* One dimension of a convolution's window. */
struct window {
    int64_t size;
    int64_t stride;
    int64_t low;
    int64_t high;
    int64_t lhs_dilate;
    int64_t rhs_dilate;
};

/* "3x3" or "1_1x1_1": the i-th of the numbers, 'each' per dimension. */
static void read_sizes (struct dn_span window,
                        const char *key,
                        int each,
                        int64_t out[],
                        int max)
{
    const char *at = dn_hlo_find (window, key);
    struct dn_span text;
    int64_t number = 0;
    int n = 0;

    if (!at)
        return;
    text.text = at + strlen (key);
    text.len = (size_t) (window.text + window.len - text.text);
    for (size_t i = 0; i < text.len && n < each * max;) {
        struct dn_span rest = {text.text + i, 0};

        while (i + rest.len < text.len && rest.text[rest.len] != 'x'
               && rest.text[rest.len] != '_' && rest.text[rest.len] != ' '
               && rest.text[rest.len] != '}')
            rest.len++;
        if (dn_hlo_numbers (rest, &number, 1) == 1)
            out[n++] = number;
        i += rest.len + 1;
        if (i > text.len || rest.text[rest.len] == ' ' || rest.text[rest.len] == '}')
            break;
    }
}

static void read_window (struct dn_span text, struct window windows[SPACE_MAX])
{
    int64_t size[SPACE_MAX];
    int64_t stride[SPACE_MAX];
    int64_t pad[2 * SPACE_MAX] = {0};
    int64_t lhs[SPACE_MAX];
    int64_t rhs[SPACE_MAX];

    for (int i = 0; i < SPACE_MAX; i++)
        size[i] = stride[i] = lhs[i] = rhs[i] = 1;
    read_sizes (text, "size=", 1, size, SPACE_MAX);
    read_sizes (text, "stride=", 1, stride, SPACE_MAX);
    read_sizes (text, "pad=", 2, pad, SPACE_MAX);
    read_sizes (text, "lhs_dilate=", 1, lhs, SPACE_MAX);
    read_sizes (text, "rhs_dilate=", 1, rhs, SPACE_MAX);
    for (int i = 0; i < SPACE_MAX; i++)
        windows[i] = (struct window){size[i] > 0 ? size[i] : 1,
                                     stride[i] > 0 ? stride[i] : 1,
                                     pad[2 * i],
                                     pad[2 * i + 1],
                                     lhs[i] > 0 ? lhs[i] : 1,
                                     rhs[i] > 0 ? rhs[i] : 1};
}

static int64_t gcd (int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int64_t floor_div (int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Outputs o in [0, outputs) whose input position o * stride + offset is a multiple of
 * 'dilate' and among 'inputs' undilated ones.
 */
static double count_outputs (const struct window *w,
                             int64_t offset,
                             int64_t inputs,
                             int64_t outputs)
{
    int64_t d = w->lhs_dilate;
    int64_t period = d / gcd (w->stride, d);
    int64_t first = 0;
    int64_t low;
    int64_t high;
    int64_t n;

    /* The first o of its residue class; they repeat after 'period'. */
    while (first < period && (first * (w->stride % d) + offset % d) % d != 0)
        first++;
    if (first == period)
        return 0;
    low = floor_div (-offset + w->stride - 1, w->stride);
    high = floor_div ((inputs - 1) * d - offset, w->stride);
    low = low < 0 ? 0 : low;
    high = high >= outputs ? outputs - 1 : high;
    if (low > first)
        first += floor_div (low - first + period - 1, period) * period;
    n = (high - first) / period + 1;
    return first > high ? 0 : (double) n;
}

/* Pairs of a window position and an output that read an input. */
static double count_pairs (struct dn_hlo_costs *costs,
                           const struct window *w,
                           int64_t kernel,
                           int64_t inputs,
                           int64_t outputs)
{
    double pairs = 0;
    double steps = (double) kernel * (1 + (double) w->lhs_dilate);

    if (steps > costs->work || w->stride > INT32_MAX || w->rhs_dilate > INT32_MAX
        || w->lhs_dilate > INT32_MAX || inputs > INT32_MAX || kernel > INT32_MAX)
        return (double) kernel * (double) outputs;
    costs->work -= steps;
    for (int64_t k = 0; k < kernel; k++)
        pairs += count_outputs (w, k * w->rhs_dilate - w->low, inputs, outputs);
    return pairs;
}

/* Positions of batch, feature and spatial dimensions in "b01f_01io->b01f". */
struct labels {
    int lhs_batch;
    int lhs_feature;
    int rhs_in;
    int rhs_out;
    int out_batch;
    int out_feature;
    int lhs_space[SPACE_MAX];
    int rhs_space[SPACE_MAX];
    int out_space[SPACE_MAX];
    int n_space;
};

/* One of the three; 'a' and 'b' are the letters of its other dimensions. */
static bool read_label (struct dn_span text,
                        char a,
                        char b,
                        int *a_place,
                        int *b_place,
                        int space[SPACE_MAX],
                        int *n_space)
{
    int n = 0;
    unsigned seen = 0;

    *a_place = *b_place = -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.text[i] == a)
            *a_place = (int) i;
        else if (text.text[i] == b)
            *b_place = (int) i;
        else if (text.text[i] >= '0' && text.text[i] < '0' + SPACE_MAX) {
            space[text.text[i] - '0'] = (int) i;
            seen |= 1U << (text.text[i] - '0');
            n++;
        } else if (text.text[i] != '?')
            return false;
    }
    *n_space = n;
    return *a_place >= 0 && *b_place >= 0 && n <= SPACE_MAX && seen == (1U << n) - 1;
}

static bool read_labels (const struct dn_hlo_instruction *conv,
                         const struct dn_hlo_product *p,
                         struct labels *l)
{
    struct dn_span rest = dn_hlo_attribute (conv, "dim_labels");
    struct dn_span lhs = dn_span_cut (&rest, "_");
    struct dn_span rhs = dn_span_cut (&rest, "-");
    int n_rhs = 0;
    int n_out = 0;

    if (!rest.text || rest.len == 0 || rest.text[0] != '>')
        return false;
    rest.text++;
    rest.len--;
    rest = dn_span_trim (rest);
    return lhs.len == (size_t) p->lhs->rank && rhs.len == (size_t) p->rhs->rank
           && rest.len == (size_t) p->out->rank && lhs.len <= SPACE_MAX + 2
           && read_label (
               lhs, 'b', 'f', &l->lhs_batch, &l->lhs_feature, l->lhs_space, &l->n_space)
           && read_label (rhs, 'i', 'o', &l->rhs_in, &l->rhs_out, l->rhs_space, &n_rhs)
           && read_label (
               rest, 'b', 'f', &l->out_batch, &l->out_feature, l->out_space, &n_out)
           && n_rhs == l->n_space && n_out == l->n_space;
}

static double number_of (const struct dn_hlo_instruction *instruction, const char *key)
{
    int64_t number;

    if (dn_hlo_numbers (dn_hlo_attribute (instruction, key), &number, 1) == 1
        && number > 0)
        return (double) number;
    return 1;
}

/* As a product: m output positions, n output features of a group, k positions of the
 * window times input features of a group.
 */
static bool read_conv (const struct dn_hlo *module,
                       struct dn_hlo_costs *costs,
                       const struct dn_hlo_instruction *conv,
                       struct dn_hlo_product *p)
{
    const int64_t *lhs = dn_hlo_dims (module, p->lhs);
    const int64_t *rhs = dn_hlo_dims (module, p->rhs);
    const int64_t *out = dn_hlo_dims (module, p->out);
    struct window windows[SPACE_MAX];
    struct labels labels;
    double pairs = 1;

    if (!read_labels (conv, p, &labels))
        return false;
    read_window (dn_hlo_attribute (conv, "window"), windows);
    p->groups = number_of (conv, "feature_group_count");
    p->batch_groups = number_of (conv, "batch_group_count");
    p->lhs_batch = (double) lhs[labels.lhs_batch];
    p->kernel = p->out_space = 1;
    for (int i = 0; i < labels.n_space; i++) {
        int64_t kernel = rhs[labels.rhs_space[i]];

        pairs *= count_pairs (costs,
                              &windows[i],
                              kernel,
                              lhs[labels.lhs_space[i]],
                              out[labels.out_space[i]]);
        p->kernel *= (double) kernel;
        p->out_space *= (double) out[labels.out_space[i]];
    }
    p->batches = p->groups;
    p->n = (double) out[labels.out_feature] / p->groups;
    p->m = elements_of (module, p->out) / fmax (1, p->n * p->groups);
    p->k = p->kernel * (double) lhs[labels.lhs_feature] / p->groups;
    p->flops = 2 * pairs * (double) lhs[labels.lhs_feature] / p->groups
               * (double) out[labels.out_feature] * p->lhs_batch / p->batch_groups;
    return p->flops > 0;
}

/* Libraries that custom calls name. */
static bool read_custom (const struct dn_hlo *module,
                         struct dn_hlo_costs *costs,
                         const struct dn_hlo_instruction *call,
                         struct dn_hlo_product *p)
{
    struct dn_span target = dn_hlo_attribute (call, "custom_call_target");

    if (!target.text)
        return false;
    if (dn_hlo_find (target, "$convBackwardInput")) {
        const struct dn_hlo_array *gradient = p->lhs;

        p->lhs = p->out;
        p->out = gradient;
        return read_conv (module, costs, call, p);
    }
    if (dn_hlo_find (target, "$convBackwardFilter")) {
        const struct dn_hlo_array *gradient = p->rhs;

        p->rhs = p->out;
        p->out = gradient;
        return read_conv (module, costs, call, p);
    }
    if (dn_hlo_find (target, "$conv"))
        return read_conv (module, costs, call, p);
    if (dn_hlo_find (target, "gemm") || dn_hlo_find (target, "matmul"))
        return read_library_dot (module, p);
    return false;
}

bool dn_hlo_product (const struct dn_hlo *module,
                     struct dn_hlo_costs *costs,
                     const struct dn_hlo_instruction *instruction,
                     struct dn_hlo_product *product)
{
    if (instruction->op != DN_HLO_DOT && instruction->op != DN_HLO_CONVOLUTION
        && instruction->op != DN_HLO_CUSTOM)
        return false;
    *product = (struct dn_hlo_product){.groups = 1};
    product->lhs = operand_array (module, instruction, 0);
    product->rhs = operand_array (module, instruction, 1);
    if (!product->lhs || !product->rhs || instruction->n_arrays < 1)
        return false;
    product->out = dn_hlo_result (module, instruction, 0);
    if (instruction->op == DN_HLO_DOT)
        return read_dot (module, instruction, product);
    if (instruction->op == DN_HLO_CONVOLUTION)
        return read_conv (module, costs, instruction, product);
    return read_custom (module, costs, instruction, product);
}

/* Limits of the calls that a value is followed through, and of the links of its chain.
 */
#define CALLS_MAX 8
#define LINKS_MAX 64

/* An instruction, with the calls that lead to it; 'element' of its tuple, or -1. */
struct place {
    int at;
    int element;
    int calls[CALLS_MAX];
    int n_calls;
};

static bool into_callee (const struct dn_hlo *module, struct place *place)
{
    const struct dn_hlo_instruction *call = dn_hlo_at (module, place->at);

    if (call->n_callees != 1 || place->n_calls == CALLS_MAX)
        return false;
    place->calls[place->n_calls++] = place->at;
    place->at = dn_hlo_computation (module, dn_hlo_callee (module, call, 0))->root;
    return true;
}

static bool out_of_callee (const struct dn_hlo *module, struct place *place)
{
    const struct dn_hlo_instruction *parameter = dn_hlo_at (module, place->at);
    const struct dn_hlo_instruction *call =
        dn_hlo_at (module, place->calls[--place->n_calls]);
    int64_t number;

    if (dn_hlo_numbers (parameter->arguments, &number, 1) != 1 || number < 0
        || number >= call->n_operands)
        return false;
    place->at = dn_hlo_operand (module, call, (int) number);
    return true;
}

/* Go one link towards the origin of a value: 1, 0 at its origin, -1 if it is unknown.
 */
static int follow (const struct dn_hlo *module, struct place *place)
{
    const struct dn_hlo_instruction *i = dn_hlo_at (module, place->at);
    int64_t number;

    switch (i->op) {
    case DN_HLO_ELEMENT:
        if (place->element >= 0 || i->n_operands != 1
            || dn_hlo_numbers (dn_hlo_attribute (i, "index"), &number, 1) != 1
            || number < 0 || number > INT32_MAX)
            return -1;
        place->element = (int) number;
        break;
    case DN_HLO_TUPLE:
        if (place->element < 0 || place->element >= i->n_operands)
            return -1;
        place->at = dn_hlo_operand (module, i, place->element);
        place->element = -1;
        return 1;
    case DN_HLO_CALL:
    case DN_HLO_FUSION:
        return into_callee (module, place) ? 1 : -1;
    case DN_HLO_PARAMETER:
        if (place->n_calls == 0)
            return 0;
        return out_of_callee (module, place) ? 1 : -1;
    case DN_HLO_COPY:
    case DN_HLO_RESHAPE:
    case DN_HLO_CONVERT:
    case DN_HLO_FREE:
        if (i->n_operands == 0)
            return 0;
        break;
    default:
        return 0;
    }
    place->at = dn_hlo_operand (module, i, 0);
    return 1;
}

/* Go to the origin of a value; return its instruction, or NULL. */
static const struct dn_hlo_instruction *find_origin (const struct dn_hlo *module,
                                                     struct place *place)
{
    int more = 1;

    for (int i = 0; more == 1 && i < LINKS_MAX; i++)
        more = follow (module, place);
    return more == 0 ? dn_hlo_at (module, place->at) : NULL;
}

static struct place operand_place (const struct dn_hlo *module,
                                   const struct place *user,
                                   int i)
{
    struct place place = *user;

    place.at = dn_hlo_operand (module, dn_hlo_at (module, user->at), i);
    place.element = -1;
    return place;
}

static bool is_constant (const struct dn_hlo *module, struct place place, double *value)
{
    const struct dn_hlo_instruction *origin = find_origin (module, &place);
    int64_t number;

    if (!origin || origin->op != DN_HLO_CONSTANT || origin->n_arrays != 1
        || dn_hlo_result (module, origin, 0)->rank != 0
        || dn_hlo_numbers (origin->arguments, &number, 1) != 1)
        return false;
    *value = (double) number;
    return true;
}

/* The index of a value in the loop's state, or -1. */
static int state_of (const struct dn_hlo *module, struct place place)
{
    const struct dn_hlo_instruction *origin = find_origin (module, &place);

    return origin && origin->op == DN_HLO_PARAMETER ? place.element : -1;
}

/* The iterations of a state that begins with a constant and grows by another to 'end'.
 */
static double counted_trips (const struct dn_hlo *module,
                             const struct dn_hlo_instruction *loop,
                             int state,
                             double end)
{
    const struct dn_hlo_computation *body =
        dn_hlo_computation (module, dn_hlo_callee (module, loop, 0));
    struct place first = {.at = dn_hlo_operand (module, loop, 0), .element = state};
    struct place next = {.at = body->root, .element = state};
    const struct dn_hlo_instruction *sum = find_origin (module, &next);
    double begin;
    double step;

    if (!sum || sum->op != DN_HLO_ADD || sum->n_operands != 2
        || !is_constant (module, first, &begin))
        return -1;
    for (int i = 0; i < 2; i++)
        if (state_of (module, operand_place (module, &next, i)) == state
            && is_constant (module, operand_place (module, &next, 1 - i), &step)
            && step > 0)
            return fmax (0, ceil ((end - begin) / step));
    return -1;
}

/* Iterations until 'i < n' fails, or the first of two such tests. */
/* NOLINTNEXTLINE(misc-no-recursion): at most 'depth' levels */
static double tested_trips (const struct dn_hlo *module,
                            const struct dn_hlo_instruction *loop,
                            struct place test,
                            int depth)
{
    const struct dn_hlo_instruction *origin = find_origin (module, &test);
    double least = -1;
    double end;
    int state;

    if (!origin || origin->n_operands != 2)
        return -1;
    if (origin->op == DN_HLO_COMPARE) {
        state = state_of (module, operand_place (module, &test, 0));
        return state >= 0 && dn_span_is (dn_hlo_attribute (origin, "direction"), "LT")
                       && is_constant (module, operand_place (module, &test, 1), &end)
                   ? counted_trips (module, loop, state, end)
                   : -1;
    }
    for (int i = 0; i < 2 && depth > 0 && origin->op == DN_HLO_AND; i++) {
        double trips =
            tested_trips (module, loop, operand_place (module, &test, i), depth - 1);

        if (trips >= 0 && (least < 0 || trips < least))
            least = trips;
    }
    return least;
}

double dn_hlo_trips (const struct dn_hlo *module, const struct dn_hlo_instruction *loop)
{
    struct dn_span config = dn_hlo_attribute (loop, "backend_config");
    const char *known = config.text ? dn_hlo_find (config, "known_trip_count") : NULL;
    struct place test = {.element = -1};
    int64_t number;

    if (known) {
        struct dn_span rest = {known, (size_t) (config.text + config.len - known)};

        if (dn_hlo_numbers (rest, &number, 1) == 1 && number >= 0)
            return (double) number;
    }
    if (loop->n_callees != 2 || loop->n_operands != 1)
        return -1;
    test.at = dn_hlo_computation (module, dn_hlo_callee (module, loop, 1))->root;
    return tested_trips (module, loop, test, 2);
}

int dn_hlo_branch (const struct dn_hlo *module,
                   const struct dn_hlo_costs *costs,
                   const struct dn_hlo_instruction *conditional)
{
    int best = -1;

    for (int i = 0; i < conditional->n_callees; i++) {
        int callee = dn_hlo_callee (module, conditional, i);

        if (best < 0 || costs->list[callee].flops > costs->list[best].flops)
            best = callee;
    }
    return best;
}

/* Positions of a window that is not of a convolution. */
static double window_positions (const struct dn_hlo_instruction *instruction)
{
    struct window windows[SPACE_MAX];
    double positions = 1;

    read_window (dn_hlo_attribute (instruction, "window"), windows);
    for (int i = 0; i < SPACE_MAX; i++)
        positions *= (double) windows[i].size;
    return positions;
}

static double callee_flops (const struct dn_hlo *module,
                            const struct dn_hlo_costs *costs,
                            const struct dn_hlo_instruction *instruction,
                            int i)
{
    return i < instruction->n_callees
               ? costs->list[dn_hlo_callee (module, instruction, i)].flops
               : 0;
}

/* Reductions and similar: the cost of their function times its calls. */
static double reduction_flops (const struct dn_hlo *module,
                               const struct dn_hlo_costs *costs,
                               const struct dn_hlo_instruction *instruction)
{
    double in = elements_of (module, operand_array (module, instruction, 0));
    double out = out_elements (module, instruction);
    double each = callee_flops (module, costs, instruction, 0);
    double source = elements_of (module, operand_array (module, instruction, 1));

    switch (instruction->op) {
    case DN_HLO_REDUCE:
        return fmax (0, in - out) * each;
    case DN_HLO_REDUCE_WINDOW:
        return (window_positions (instruction) - 1) * out * each;
    case DN_HLO_SELECT_AND_SCATTER:
        return source
               * ((window_positions (instruction) - 1) * each
                  + callee_flops (module, costs, instruction, 1));
    case DN_HLO_SCATTER:
        source = elements_of (
            module, operand_array (module, instruction, instruction->n_operands - 1));
        return source * each;
    default: /* map */
        return out * each;
    }
}

static double solver_flops (const struct dn_hlo *module,
                            const struct dn_hlo_instruction *instruction)
{
    const struct dn_hlo_array *a = operand_array (module, instruction, 0);
    const struct dn_hlo_array *b = operand_array (module, instruction, 1);
    double in = elements_of (module, a);
    double last = a && a->rank > 0 ? (double) dn_hlo_dims (module, a)[a->rank - 1] : 1;

    switch (instruction->op) {
    case DN_HLO_CHOLESKY:
        return in * last / 3;
    case DN_HLO_TRIANGULAR:
        return last * elements_of (module, b);
    case DN_HLO_SORT:
        return in * ceil (log2 (fmax (in, 1)));
    default: /* FFT: a complex multiplication counts four */
        return 4 * in * log2 (fmax (last, 2));
    }
}

static void add (struct dn_hlo_cost *sum, const struct dn_hlo_cost *cost, double times)
{
    sum->flops += times * cost->flops;
    sum->products += times * cost->products;
}

/* A call costs what its callees cost. */
static bool add_calls (const struct dn_hlo *module,
                       struct dn_hlo_costs *costs,
                       const struct dn_hlo_instruction *instruction,
                       struct dn_hlo_cost *sum)
{
    double trips = 1;
    int branch;

    switch (instruction->op) {
    case DN_HLO_WHILE:
        trips = dn_hlo_trips (module, instruction);
        costs->unknown_trips += trips < 0;
        trips = trips < 0 ? 1 : trips;
        break;
    case DN_HLO_CONDITIONAL:
        branch = dn_hlo_branch (module, costs, instruction);
        if (branch >= 0)
            add (sum, &costs->list[branch], 1);
        return true;
    case DN_HLO_CALL:
    case DN_HLO_FUSION:
    case DN_HLO_ASYNC:
        break;
    default:
        return false;
    }
    for (int i = 0; i < instruction->n_callees; i++)
        add (sum, &costs->list[dn_hlo_callee (module, instruction, i)], trips);
    return true;
}

static void add_instruction (const struct dn_hlo *module,
                             struct dn_hlo_costs *costs,
                             const struct dn_hlo_instruction *instruction,
                             struct dn_hlo_cost *sum)
{
    struct dn_hlo_product product;
    struct dn_hlo_attention attention;

    if (add_calls (module, costs, instruction, sum))
        return;
    if (dn_hlo_product (module, costs, instruction, &product)) {
        sum->flops += product.flops;
        sum->products += product.flops;
        return;
    }
    if (dn_hlo_attention (module, instruction, &attention)) {
        sum->flops += attention.flops;
        sum->products += attention.flops;
        return;
    }
    switch (instruction->op) {
    case DN_HLO_ARITHMETIC:
    case DN_HLO_ADD:
    case DN_HLO_AND:
    case DN_HLO_COMPARE:
    case DN_HLO_CONVERT:
    case DN_HLO_ALL_REDUCE:
        sum->flops += out_elements (module, instruction);
        break;
    case DN_HLO_REDUCE:
    case DN_HLO_REDUCE_WINDOW:
    case DN_HLO_SELECT_AND_SCATTER:
    case DN_HLO_SCATTER:
    case DN_HLO_MAP:
        sum->flops += reduction_flops (module, costs, instruction);
        break;
    case DN_HLO_CHOLESKY:
    case DN_HLO_TRIANGULAR:
    case DN_HLO_SORT:
    case DN_HLO_FFT:
        sum->flops += solver_flops (module, instruction);
        break;
    case DN_HLO_CUSTOM:
        costs->unknown_calls++;
        break;
    default:
        break;
    }
}

int dn_hlo_costs_find (const struct dn_hlo *module,
                       struct dn_hlo_costs *costs,
                       struct dn_err *err)
{
    *costs = (struct dn_hlo_costs){.work = WORK_MAX};
    costs->list = calloc ((size_t) module->computations.n, sizeof (*costs->list));
    if (!costs->list)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < module->computations.n; i++) {
        const struct dn_hlo_computation *computation = dn_hlo_computation (module, i);
        struct dn_hlo_cost sum = {0, 0};

        for (int k = 0; k < computation->n; k++)
            add_instruction (
                module, costs, dn_hlo_at (module, computation->first + k), &sum);
        costs->list[i] = sum;
        if (!(sum.flops <= FLOPS_MAX)) {
            dn_hlo_costs_free (costs);
            return dn_err_set (
                err,
                DN_E_LIMIT,
                "computation '%s': more than %g operations",
                dn_quote (computation->name.text, computation->name.len).text,
                FLOPS_MAX);
        }
    }
    return 0;
}

void dn_hlo_costs_free (struct dn_hlo_costs *costs)
{
    if (!costs)
        return;
    free (costs->list);
    costs->list = NULL;
}
