/* hlo_kernels.c - the kernels of an HLO module, how often they run, and what they move
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hlo_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a value is used, where not by one kernel. */
enum {
    UNUSED = -1,
    APART = -2,  /* by several kernels, which could compute it again */
    WRITTEN = -3 /* it must be written to memory */
};

/* A value that is computed from constants and from much smaller arrays. */
#define NOTHING (-1)

/* Ratio of sizes from which one array is much smaller than another. */
#define SMALL_TIMES 16

/* Limit of the runs of a computation. */
#define RUNS_MAX 1e9

struct finding {
    const struct dn_hlo *module;
    const struct dn_hlo_costs *costs;
    const struct dn_hlo_entry *entry;
    struct dn_hlo_kernels *kernels;
    bool *light;    /* per computation: only element-wise operations */
    int *want;      /* per instruction, as above, or the kernel that uses it */
    int *read;      /* the last kernel that read it */
    int *last;      /* the last instruction during which it is alive */
    int *level;     /* reductions and products that it depends on */
    int *source;    /* the one array that it is computed from, itself, or NOTHING */
    int root;       /* of the current computation */
    double *ending; /* bytes that are freed after an instruction */
    double *peaks;  /* per computation; for a fused one, the bytes that it reads */
};

static const struct dn_hlo_instruction *operand_of (
    const struct dn_hlo *module,
    const struct dn_hlo_instruction *user,
    int i)
{
    return dn_hlo_at (module, dn_hlo_operand (module, user, i));
}

static bool is_free (enum dn_hlo_op op)
{
    return op == DN_HLO_PARAMETER || op == DN_HLO_CONSTANT || op == DN_HLO_FREE
           || op == DN_HLO_TUPLE || op == DN_HLO_ELEMENT;
}

/* Does each element depend on one element, or on few? */
static bool is_elementwise (enum dn_hlo_op op)
{
    switch (op) {
    case DN_HLO_ARITHMETIC:
    case DN_HLO_TRANSCENDENTAL:
    case DN_HLO_ADD:
    case DN_HLO_AND:
    case DN_HLO_COMPARE:
    case DN_HLO_CONVERT:
    case DN_HLO_RESHAPE:
    case DN_HLO_BROADCAST:
        return true;
    default:
        return false;
    }
}

/* May it share a kernel with its users? A reduction only with its operands. */
static bool is_fusible (const struct finding *f, const struct dn_hlo_instruction *i)
{
    switch (i->op) {
    case DN_HLO_COPY:
    case DN_HLO_MOVE:
    case DN_HLO_SLICE:
    case DN_HLO_REDUCE:
    case DN_HLO_MAP:
        return true;
    case DN_HLO_CALL:
        return i->n_callees == 1 && f->light[dn_hlo_callee (f->module, i, 0)];
    default:
        return is_elementwise (i->op);
    }
}

static void find_light (struct finding *f)
{
    for (int c = 0; c < f->module->computations.n; c++) {
        const struct dn_hlo_computation *computation =
            dn_hlo_computation (f->module, c);
        bool light = true;

        for (int i = computation->first; i < computation->first + computation->n; i++) {
            const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);

            light = light && instruction->op != DN_HLO_REDUCE
                    && (is_free (instruction->op) || is_fusible (f, instruction));
        }
        f->light[c] = light;
    }
}

/* Does the instruction call computations with separate kernels? Else it is a kernel. */
static bool calls_kernels (const struct finding *f, const struct dn_hlo_instruction *i)
{
    switch (i->op) {
    case DN_HLO_WHILE:
    case DN_HLO_CONDITIONAL:
    case DN_HLO_ASYNC:
        return i->n_callees > 0;
    case DN_HLO_CALL:
        return i->n_callees > 0 && (f->module->optimised || !is_fusible (f, i));
    default:
        return false;
    }
}

static void run_callees (struct finding *f,
                         const struct dn_hlo_instruction *instruction,
                         double times)
{
    int branch;

    if (instruction->op == DN_HLO_CONDITIONAL) {
        branch = dn_hlo_branch (f->module, f->costs, instruction);
        if (branch >= 0)
            f->kernels->runs[branch] += times;
        return;
    }
    if (instruction->op == DN_HLO_WHILE) {
        double trips = dn_hlo_trips (f->module, instruction);

        times *= trips < 0 ? 1 : trips;
    }
    for (int i = 0; i < instruction->n_callees; i++)
        f->kernels->runs[dn_hlo_callee (f->module, instruction, i)] += times;
}

/* Count the runs of every computation; its callers come after it in the text. */
static int count_runs (struct finding *f, struct dn_err *err)
{
    double *runs = f->kernels->runs;

    runs[f->module->entry] = 1;
    for (int c = f->module->computations.n - 1; c >= 0; c--) {
        const struct dn_hlo_computation *computation =
            dn_hlo_computation (f->module, c);

        if (runs[c] > RUNS_MAX)
            return dn_err_set (
                err,
                DN_E_LIMIT,
                "computation '%s': runs %g times, expected at most %g",
                dn_quote (computation->name.text, computation->name.len).text,
                runs[c],
                RUNS_MAX);
        for (int i = 0; runs[c] > 0 && i < computation->n; i++) {
            const struct dn_hlo_instruction *instruction =
                dn_hlo_at (f->module, computation->first + i);

            if (calls_kernels (f, instruction))
                run_callees (f, instruction, runs[c]);
        }
    }
    return 0;
}

/* --- kernels of an optimised module: one per instruction */

/* Bytes that are read of a fusion's parameter: of one that is only sliced, the slices.
 */
static double read_of_parameter (const struct dn_hlo *module,
                                 const struct dn_hlo_computation *inside,
                                 int parameter)
{
    const struct dn_hlo_instruction *whole = dn_hlo_at (module, parameter);
    double all = dn_hlo_result_bytes (module, whole);
    double pieces = 0;
    int end = inside->first + inside->n;

    for (int i = parameter + 1; i < end && pieces < all; i++) {
        const struct dn_hlo_instruction *user = dn_hlo_at (module, i);

        for (int k = 0; k < user->n_operands; k++) {
            if (dn_hlo_operand (module, user, k) != parameter)
                continue;
            if (k == 0 && (user->op == DN_HLO_SLICE || user->op == DN_HLO_GATHER))
                pieces += dn_hlo_result_bytes (module, user);
            else if (k > 0 || user->op != DN_HLO_UPDATE_SLICE)
                return all;
        }
    }
    return fmin (pieces, all);
}

/* Bytes that an instruction writes; an update in place writes only its slice. */
static double written (const struct dn_hlo *module,
                       const struct dn_hlo_instruction *instruction)
{
    const struct dn_hlo_instruction *root = instruction;

    if (instruction->op == DN_HLO_FUSION && instruction->n_callees > 0) {
        const struct dn_hlo_computation *inside =
            dn_hlo_computation (module, dn_hlo_callee (module, instruction, 0));

        root = dn_hlo_at (module, inside->root);
        if (root->op == DN_HLO_FREE && root->n_operands == 1) /* a bitcast of it */
            root = operand_of (module, root, 0);
    }
    if (root->op == DN_HLO_UPDATE_SLICE && root->n_operands > 1)
        return dn_hlo_result_bytes (module, operand_of (module, root, 1));
    return dn_hlo_result_bytes (module, instruction);
}

/* A fusion of more instructions is assumed to read all of its parameters. */
#define INSIDE_MAX 1024

/* Bytes that a fused computation reads; many fusions may call it. */
static double inside_bytes (struct finding *f, int c)
{
    const struct dn_hlo_computation *inside = dn_hlo_computation (f->module, c);
    double bytes = 0;

    if (f->peaks[c] > 0) /* fusions have no use for it otherwise */
        return f->peaks[c];
    for (int i = inside->first; i < inside->first + inside->n; i++) {
        if (dn_hlo_at (f->module, i)->op != DN_HLO_PARAMETER)
            continue;
        bytes += inside->n > INSIDE_MAX
                     ? dn_hlo_result_bytes (f->module, dn_hlo_at (f->module, i))
                     : read_of_parameter (f->module, inside, i);
    }
    f->peaks[c] = bytes;
    return bytes;
}

/* Bytes of an instruction that is a kernel on its own. */
static double single_bytes (struct finding *f,
                            const struct dn_hlo_instruction *instruction)
{
    const struct dn_hlo *module = f->module;
    double out = written (module, instruction);
    double bytes = out;

    switch (instruction->op) {
    case DN_HLO_SLICE:
    case DN_HLO_GATHER:
    case DN_HLO_UPDATE_SLICE:
        return 2 * out;
    case DN_HLO_BROADCAST:
    case DN_HLO_RNG:
        return out;
    case DN_HLO_SCATTER: /* the elements that it updates are read and written */
        if (instruction->n_operands < 3)
            return out;
        return out
               + 2
                     * dn_hlo_result_bytes (
                         module,
                         operand_of (module, instruction, instruction->n_operands - 1));
    case DN_HLO_FUSION:
        if (instruction->n_callees == 1)
            return out + inside_bytes (f, dn_hlo_callee (module, instruction, 0));
        break;
    default:
        break;
    }
    for (int i = 0; i < instruction->n_operands; i++)
        bytes += dn_hlo_result_bytes (module, operand_of (module, instruction, i));
    return bytes;
}

static void find_single (struct finding *f,
                         const struct dn_hlo_computation *computation)
{
    for (int i = computation->first; i < computation->first + computation->n; i++) {
        const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);

        f->kernels->home[i] = DN_HLO_NOWHERE;
        if (is_free (instruction->op) || calls_kernels (f, instruction))
            continue;
        f->kernels->home[i] = i;
        f->kernels->bytes[i] = single_bytes (f, instruction);
    }
}

/* --- kernels of a module before optimisation */

static void find_levels (struct finding *f,
                         const struct dn_hlo_computation *computation)
{
    for (int i = computation->first; i < computation->first + computation->n; i++) {
        const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
        int level = 0;

        for (int k = 0; k < instruction->n_operands; k++) {
            int below = f->level[dn_hlo_operand (f->module, instruction, k)];

            level = below > level ? below : level;
        }
        f->level[i] =
            level
            + (instruction->op == DN_HLO_REDUCE
               || (!is_free (instruction->op) && !is_fusible (f, instruction)));
    }
}

static double elements_of (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);

    return instruction->n_arrays == 1
               ? dn_hlo_elements (f->module, dn_hlo_result (f->module, instruction, 0))
               : 0;
}

/* The one source of an element-wise operation; itself if there are more. */
static int source_of (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    int source = NOTHING;

    if (instruction->op == DN_HLO_CONSTANT)
        return NOTHING;
    if (instruction->n_arrays != 1 || !is_elementwise (instruction->op))
        return i;
    for (int k = 0; k < instruction->n_operands; k++) {
        int below = f->source[dn_hlo_operand (f->module, instruction, k)];

        if (below == NOTHING || below == source
            || elements_of (f, below) * SMALL_TIMES <= elements_of (f, i))
            continue;
        if (source != NOTHING)
            return i;
        source = below;
    }
    return source;
}

static void find_sources (struct finding *f,
                          const struct dn_hlo_computation *computation)
{
    for (int i = computation->first; i < computation->first + computation->n; i++)
        f->source[i] = source_of (f, i);
}

/* The kernel that another kernel was merged into. */
static int follow (const struct finding *f, int kernel)
{
    int *home = f->kernels->home;

    while (kernel >= 0 && home[kernel] != kernel) {
        if (home[kernel] >= 0) /* shortens the next search */
            home[kernel] = home[home[kernel]];
        kernel = home[kernel];
    }
    return kernel;
}

/* Do two kernels that end in reductions read the same, so that XLA merges them? Equal
 * levels mean that neither depends on the other.
 */
static bool are_siblings (const struct finding *f, int a, int b)
{
    const struct dn_hlo_instruction *x = dn_hlo_at (f->module, a);
    const struct dn_hlo_instruction *y = dn_hlo_at (f->module, b);

    return x->op == DN_HLO_REDUCE && y->op == DN_HLO_REDUCE && x->n_operands > 0
           && y->n_operands > 0 && f->level[a] == f->level[b]
           && dn_hlo_result_bytes (f->module, operand_of (f->module, x, 0))
                  == dn_hlo_result_bytes (f->module, operand_of (f->module, y, 0));
}

/* Record that a kernel uses an operand, or that it is WRITTEN. */
static void want (struct finding *f, int operand, int kernel)
{
    int *wanted = &f->want[operand];

    if (*wanted >= 0)
        *wanted = follow (f, *wanted);
    if (*wanted == UNUSED || kernel == WRITTEN)
        *wanted = kernel;
    else if (*wanted >= 0 && *wanted != kernel) {
        if (are_siblings (f, *wanted, kernel))
            f->kernels->home[kernel] = *wanted;
        else
            *wanted = APART;
    }
}

/* Is the value cheaper to compute again in each reader than to write? So is a cast, or
 * a value computed from an array that is no larger, such as a normalised activation.
 */
static bool is_remade (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    int source = f->source[i];

    switch (instruction->op) {
    case DN_HLO_CONSTANT:
    case DN_HLO_BROADCAST:
    case DN_HLO_RESHAPE:
    case DN_HLO_CONVERT:
        return true;
    default:
        return source == NOTHING
               || (source != i
                   && dn_hlo_result_bytes (f->module, dn_hlo_at (f->module, source))
                          <= dn_hlo_result_bytes (f->module, instruction));
    }
}

static void settle_home (struct finding *f, int i, bool root)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    int *home = &f->kernels->home[i];
    int wanted = f->want[i] >= 0 ? follow (f, f->want[i]) : f->want[i];

    *home = DN_HLO_NOWHERE;
    if (is_free (instruction->op) || calls_kernels (f, instruction))
        return;
    if (wanted == UNUSED && !root)
        return;
    *home = i;
    if (!is_fusible (f, instruction) || root)
        return;
    if (wanted == APART && is_remade (f, i))
        *home = DN_HLO_NOWHERE;
    else if (wanted >= 0 && instruction->op != DN_HLO_REDUCE)
        *home = wanted;
}

static void want_operands (struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    bool passes =
        is_free (instruction->op)
        || (f->kernels->home[i] == DN_HLO_NOWHERE && is_fusible (f, instruction));
    int kernel =
        is_fusible (f, instruction) ? follow (f, f->kernels->home[i]) : WRITTEN;

    if (f->want[i] == UNUSED && i != f->root)
        return;
    if (instruction->op == DN_HLO_TUPLE)
        kernel = WRITTEN;
    else if (passes)
        kernel = f->want[i];
    for (int k = 0; k < instruction->n_operands && kernel != UNUSED; k++) {
        int operand = dn_hlo_operand (f->module, instruction, k);

        if (kernel == APART)
            f->want[operand] = f->want[operand] == WRITTEN ? WRITTEN : APART;
        else
            want (f, operand, kernel);
    }
}

/* Limit of a chain of values that are computed where they are read. */
#define CHAIN_MAX 16

/* The operand that is read for a value that its readers compute; else the value itself.
 */
static int made_of (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *value = dn_hlo_at (f->module, i);

    if (f->kernels->home[i] != DN_HLO_NOWHERE || !is_fusible (f, value)
        || calls_kernels (f, value) || value->n_operands == 0)
        return i;
    for (int k = 0; k < value->n_operands; k++) {
        int operand = dn_hlo_operand (f->module, value, k);

        if (f->source[operand] == f->source[i])
            return operand;
    }
    return dn_hlo_operand (f->module, value, 0);
}

/* A kernel reads an operand, or the array that the operand is computed from. */
static void read_operand (struct finding *f, int operand, int kernel)
{
    const struct dn_hlo_instruction *value;

    for (int i = 0; i < CHAIN_MAX && made_of (f, operand) != operand; i++)
        operand = made_of (f, operand);
    value = dn_hlo_at (f->module, operand);
    if (value->op == DN_HLO_CONSTANT || f->read[operand] == kernel
        || (f->source[operand] == NOTHING && f->kernels->home[operand] < 0)
        || (value->op == DN_HLO_BROADCAST && f->kernels->home[operand] < 0))
        return;
    f->read[operand] = kernel;
    f->kernels->bytes[kernel] += dn_hlo_result_bytes (f->module, value);
}

static void add_bytes (struct finding *f, int i, bool root)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    int kernel = f->kernels->home[i];

    if (kernel == DN_HLO_NOWHERE)
        return;
    if (!is_fusible (f, instruction)) {
        f->kernels->bytes[i] = single_bytes (f, instruction);
        return;
    }
    kernel = follow (f, kernel);
    if (kernel == i || root || instruction->op == DN_HLO_REDUCE)
        f->kernels->bytes[kernel] += dn_hlo_result_bytes (f->module, instruction);
    if (instruction->op == DN_HLO_SLICE) { /* reads no more than it returns */
        f->kernels->bytes[kernel] += dn_hlo_result_bytes (f->module, instruction);
        return;
    }
    for (int k = 0; k < instruction->n_operands; k++) {
        int operand = dn_hlo_operand (f->module, instruction, k);
        int home = f->kernels->home[operand];

        if (home == DN_HLO_NOWHERE || follow (f, home) != kernel
            || dn_hlo_at (f->module, operand)->op == DN_HLO_REDUCE)
            read_operand (f, operand, kernel);
    }
}

static void find_fused (struct finding *f, const struct dn_hlo_computation *computation)
{
    int end = computation->first + computation->n;

    f->root = computation->root;
    find_levels (f, computation);
    find_sources (f, computation);
    for (int i = computation->first; i < end; i++)
        f->want[i] = UNUSED;
    for (int i = end - 1; i >= computation->first; i--) {
        settle_home (f, i, i == computation->root);
        want_operands (f, i);
    }
    for (int i = computation->first; i < end; i++)
        add_bytes (f, i, i == computation->root);
}

/* --- memory that is alive */

/* A value in the same kernel as its users is never written; it only keeps its operands
 * alive until the kernel runs.
 */
static bool is_passed_on (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);

    return is_free (instruction->op)
           || (f->kernels->home[i] != i && !calls_kernels (f, instruction));
}

/* Does the result take the memory of an operand? */
static bool is_in_place (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);

    return instruction->op == DN_HLO_WHILE || instruction->op == DN_HLO_UPDATE_SLICE
           || (instruction->op == DN_HLO_FUSION
               && written (f->module, instruction)
                      < dn_hlo_result_bytes (f->module, instruction));
}

static double own_bytes (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    double bytes = 0;

    if (is_passed_on (f, i) || is_in_place (f, i))
        return 0;
    for (int k = 0; k < instruction->n_arrays; k++) {
        const struct dn_hlo_array *array = dn_hlo_result (f->module, instruction, k);

        if (array->rank > 0 && !dn_hlo_is_weight (f->module, f->entry, array))
            bytes += dn_hlo_bytes (f->module, array);
    }
    return bytes;
}

static double callee_peak (const struct finding *f, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
    double peak = 0;

    for (int k = 0; calls_kernels (f, instruction) && k < instruction->n_callees; k++)
        peak = fmax (peak, f->peaks[dn_hlo_callee (f->module, instruction, k)]);
    return peak;
}

static double find_peak (struct finding *f,
                         const struct dn_hlo_computation *computation)
{
    int end = computation->first + computation->n;
    double alive = 0;
    double peak = 0;

    for (int i = computation->first; i < end; i++)
        f->last[i] = i;
    for (int i = end - 1; i >= computation->first; i--) {
        const struct dn_hlo_instruction *instruction = dn_hlo_at (f->module, i);
        int until = is_passed_on (f, i) || is_in_place (f, i) ? f->last[i] : i;

        if (!is_free (instruction->op) && f->kernels->home[i] >= 0)
            until = follow (f, f->kernels->home[i]);
        for (int k = 0; k < instruction->n_operands; k++) {
            int *last = &f->last[dn_hlo_operand (f->module, instruction, k)];

            *last = until > *last ? until : *last;
        }
    }
    for (int i = computation->first; i < end; i++) {
        double bytes = own_bytes (f, i);

        alive += bytes;
        f->ending[f->last[i]] += bytes;
        peak = fmax (peak, alive + callee_peak (f, i));
        alive -= f->ending[i];
    }
    return peak;
}

static int find (struct finding *f, struct dn_err *err)
{
    const struct dn_hlo *module = f->module;

    find_light (f);
    if (count_runs (f, err) < 0)
        return -1;
    for (int c = 0; c < module->computations.n; c++) {
        const struct dn_hlo_computation *computation = dn_hlo_computation (module, c);

        if (f->kernels->runs[c] <= 0)
            continue;
        if (module->optimised)
            find_single (f, computation);
        else
            find_fused (f, computation);
        f->peaks[c] = find_peak (f, computation);
    }
    f->kernels->peak = f->peaks[module->entry];
    return 0;
}

int dn_hlo_kernels_find (const struct dn_hlo *module,
                         const struct dn_hlo_costs *costs,
                         const struct dn_hlo_entry *entry,
                         struct dn_hlo_kernels *kernels,
                         struct dn_err *err)
{
    size_t n = (size_t) module->instructions.n + 1;
    size_t n_computations = (size_t) module->computations.n;
    struct finding f = {
        .module = module, .costs = costs, .entry = entry, .kernels = kernels};
    int rc;

    kernels->runs = calloc (n_computations, sizeof (double));
    kernels->home = calloc (n, sizeof (int));
    kernels->bytes = calloc (n, sizeof (double));
    f.light = calloc (n_computations, sizeof (bool));
    f.peaks = calloc (n_computations, sizeof (double));
    f.want = calloc (n, sizeof (int));
    f.read = calloc (n, sizeof (int));
    f.last = calloc (n, sizeof (int));
    f.level = calloc (n, sizeof (int));
    f.source = calloc (n, sizeof (int));
    f.ending = calloc (n, sizeof (double));
    if (kernels->runs && kernels->home && kernels->bytes && f.light && f.peaks && f.want
        && f.read && f.last && f.level && f.source && f.ending) {
        memset (f.read, 0xff, n * sizeof (int));
        rc = find (&f, err);
    } else {
        rc = dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    free (f.light);
    free (f.peaks);
    free (f.want);
    free (f.read);
    free (f.last);
    free (f.level);
    free (f.source);
    free (f.ending);
    if (rc < 0)
        dn_hlo_kernels_free (kernels);
    return rc;
}

void dn_hlo_kernels_free (struct dn_hlo_kernels *kernels)
{
    if (!kernels)
        return;
    free (kernels->runs);
    free (kernels->home);
    free (kernels->bytes);
    *kernels = (struct dn_hlo_kernels){.runs = NULL};
}
