/* hlo_entry.c - the parameters of the entry of an HLO module: weights, data, batch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hlo_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A parameter of the entry, one per array. */
struct given {
    const struct dn_hlo_array *array;
    uint64_t key;
    double elements;
    bool updated; /* the results have one of its shape */
    bool used;    /* a product or a gather reads it, unchanged in between */
    bool data;
};

struct finder {
    const struct dn_hlo *module;
    struct given *given;
    int n_given;
    uint64_t *results; /* keys, sorted */
    int n_results;
    bool *used;      /* per array of the module */
    int *parameters; /* instructions, by computation and number */
    int *first_of;   /* of a computation in 'parameters' */
    bool *passes;    /* per computation: its result is its parameter */
};

static int order_numbers (const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a;
    int64_t y = *(const int64_t *) b;

    return x < y ? -1 : x > y;
}

static int order_keys (const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a;
    uint64_t y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* FNV-1a over the dimensions, without ones and without the first 'skip'. With 'sorted'
 * their order does not matter.
 */
static uint64_t shape_key (const struct dn_hlo *module,
                           const struct dn_hlo_array *array,
                           int skip,
                           bool sorted)
{
    const int64_t *dims = dn_hlo_dims (module, array);
    uint64_t hash = UINT64_C (14695981039346656037);
    int64_t own[DN_HLO_RANK_MAX];
    size_t n = 0;

    for (int i = skip; i < array->rank; i++)
        if (dims[i] != 1 || !sorted)
            own[n++] = dims[i];
    if (sorted)
        qsort (own, n, sizeof (own[0]), order_numbers);
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < 64; b += 8)
            hash = (hash ^ (uint64_t) (own[i] >> b & 255)) * UINT64_C (1099511628211);
    return hash;
}

static bool has_key (const uint64_t *keys, int n, uint64_t key)
{
    return n > 0 && bsearch (&key, keys, (size_t) n, sizeof (key), order_keys);
}

bool dn_hlo_is_weight (const struct dn_hlo *module,
                       const struct dn_hlo_entry *entry,
                       const struct dn_hlo_array *array)
{
    return has_key (
        entry->weights, entry->n_weights, shape_key (module, array, 0, true));
}

bool dn_hlo_is_batched (const struct dn_hlo *module,
                        const struct dn_hlo_entry *entry,
                        const struct dn_hlo_array *array)
{
    const int64_t *dims = dn_hlo_dims (module, array);
    bool divides = entry->batch == 1;

    for (int i = 0; i < array->rank; i++)
        divides =
            divides || (dims[i] > 0 && fmod ((double) dims[i], entry->batch) == 0);
    return divides && !dn_hlo_is_weight (module, entry, array);
}

/* Is the result the operand's numbers, in another type, order or place? */
static bool passes (enum dn_hlo_op op)
{
    return op == DN_HLO_FREE || op == DN_HLO_CONVERT || op == DN_HLO_COPY
           || op == DN_HLO_RESHAPE || op == DN_HLO_MOVE || op == DN_HLO_SLICE;
}

static bool all_pass (const struct dn_hlo *module,
                      const struct dn_hlo_computation *computation)
{
    for (int i = computation->first; i < computation->first + computation->n; i++) {
        enum dn_hlo_op op = dn_hlo_at (module, i)->op;

        if (!passes (op) && op != DN_HLO_PARAMETER && op != DN_HLO_CONSTANT)
            return false;
    }
    return true;
}

/* Find the parameters of all computations by their numbers. */
static void list_parameters (struct finder *finder)
{
    const struct dn_hlo *module = finder->module;
    int next = 0;

    for (int c = 0; c < module->computations.n; c++) {
        const struct dn_hlo_computation *computation = dn_hlo_computation (module, c);

        finder->first_of[c] = next;
        finder->passes[c] = all_pass (module, computation);
        for (int i = 0; i < computation->n_parameters; i++)
            finder->parameters[next + i] = -1;
        for (int i = computation->first; i < computation->first + computation->n; i++) {
            const struct dn_hlo_instruction *instruction = dn_hlo_at (module, i);
            int64_t number;

            if (instruction->op == DN_HLO_PARAMETER
                && dn_hlo_numbers (instruction->arguments, &number, 1) == 1
                && number >= 0 && number < computation->n_parameters)
                finder->parameters[next + number] = i;
        }
        next += computation->n_parameters;
    }
}

/* Mark the arrays of 'to' as used where those of 'from' are. */
static void pass_on (struct finder *finder, int from, int to)
{
    const struct dn_hlo_instruction *source = dn_hlo_at (finder->module, from);
    const struct dn_hlo_instruction *target = dn_hlo_at (finder->module, to);
    int n = source->n_arrays < target->n_arrays ? source->n_arrays : target->n_arrays;

    for (int i = 0; i < n; i++)
        if (finder->used[source->first_array + i])
            finder->used[target->first_array + i] = true;
}

static void use (struct finder *finder, const struct dn_hlo_instruction *user, int i)
{
    const struct dn_hlo_instruction *operand;

    if (i >= user->n_operands)
        return;
    operand = dn_hlo_at (finder->module, dn_hlo_operand (finder->module, user, i));
    if (operand->n_arrays > 0)
        finder->used[operand->first_array] = true;
}

/* Operands from 'first' on are the callee's parameters. */
static void use_callee (struct finder *finder,
                        const struct dn_hlo_instruction *call,
                        int callee,
                        int first,
                        int n)
{
    int c = dn_hlo_callee (finder->module, call, callee);
    int n_parameters = dn_hlo_computation (finder->module, c)->n_parameters;

    for (int i = 0; i < n && i < n_parameters && first + i < call->n_operands; i++) {
        int parameter = finder->parameters[finder->first_of[c] + i];

        if (parameter >= 0)
            pass_on (
                finder, parameter, dn_hlo_operand (finder->module, call, first + i));
    }
}

static void use_element (struct finder *finder,
                         const struct dn_hlo_instruction *element)
{
    const struct dn_hlo_instruction *tuple;
    int64_t place;

    if (element->n_operands != 1 || element->n_arrays != 1
        || !finder->used[element->first_array]
        || dn_hlo_numbers (dn_hlo_attribute (element, "index"), &place, 1) != 1)
        return;
    tuple = dn_hlo_at (finder->module, dn_hlo_operand (finder->module, element, 0));
    if (tuple->flat && place >= 0 && place < tuple->n_arrays)
        finder->used[tuple->first_array + place] = true;
}

static void use_tuple (struct finder *finder, const struct dn_hlo_instruction *tuple)
{
    for (int i = 0; tuple->flat && i < tuple->n_operands && i < tuple->n_arrays; i++)
        if (finder->used[tuple->first_array + i])
            use (finder, tuple, i);
}

/* Mark the operands that a product reads, directly or through later instructions. */
static void use_operands (struct finder *finder, int i)
{
    const struct dn_hlo_instruction *instruction = dn_hlo_at (finder->module, i);

    switch (instruction->op) {
    case DN_HLO_DOT:
    case DN_HLO_CONVOLUTION:
    case DN_HLO_CUSTOM:
        use (finder, instruction, 0);
        use (finder, instruction, 1);
        break;
    case DN_HLO_GATHER:
        use (finder, instruction, 0);
        break;
    case DN_HLO_CALL:
    case DN_HLO_FUSION:
    case DN_HLO_ASYNC:
        if (instruction->n_callees != 1)
            break;
        use_callee (finder, instruction, 0, 0, instruction->n_operands);
        if (finder->passes[dn_hlo_callee (finder->module, instruction, 0)]
            && instruction->n_arrays > 0 && finder->used[instruction->first_array])
            use (finder, instruction, 0);
        break;
    case DN_HLO_WHILE:
        if (instruction->n_callees == 2)
            use_callee (finder, instruction, 0, 0, 1);
        break;
    case DN_HLO_CONDITIONAL:
        for (int k = 0; k < instruction->n_callees; k++)
            use_callee (finder, instruction, k, k + 1, 1);
        break;
    case DN_HLO_TUPLE:
        use_tuple (finder, instruction);
        break;
    case DN_HLO_ELEMENT:
        use_element (finder, instruction);
        break;
    default:
        if (passes (instruction->op) && instruction->n_arrays > 0
            && finder->used[instruction->first_array])
            use (finder, instruction, 0);
        break;
    }
}

static void find_used (struct finder *finder)
{
    const struct dn_hlo *module = finder->module;

    list_parameters (finder);
    for (int c = 0; c < module->computations.n; c++) {
        const struct dn_hlo_computation *computation = dn_hlo_computation (module, c);

        for (int i = computation->first + computation->n - 1; i >= computation->first;
             i--)
            use_operands (finder, i);
    }
}

static bool is_real (const struct dn_hlo_array *array)
{
    return array->letter == 'f' || array->letter == 'b';
}

static void list_given (struct finder *finder)
{
    const struct dn_hlo *module = finder->module;
    const struct dn_hlo_computation *entry = dn_hlo_computation (module, module->entry);
    const struct dn_hlo_instruction *root = dn_hlo_at (module, entry->root);

    for (int i = 0; i < root->n_arrays; i++)
        finder->results[finder->n_results++] =
            shape_key (module, dn_hlo_result (module, root, i), 0, false);
    if (finder->n_results > 0)
        qsort (finder->results,
               (size_t) finder->n_results,
               sizeof (finder->results[0]),
               order_keys);
    for (int i = entry->first; i < entry->first + entry->n; i++) {
        const struct dn_hlo_instruction *parameter = dn_hlo_at (module, i);

        for (int k = 0; parameter->op == DN_HLO_PARAMETER && k < parameter->n_arrays;
             k++) {
            const struct dn_hlo_array *array = dn_hlo_result (module, parameter, k);
            uint64_t key = shape_key (module, array, 0, false);

            finder->given[finder->n_given++] = (struct given){
                .array = array,
                .key = key,
                .elements = dn_hlo_elements (module, array),
                .updated = has_key (finder->results, finder->n_results, key),
                .used = finder->used[parameter->first_array + k]};
        }
    }
}

/* A training step returns the arrays that it updates: at least half of the arrays that
 * products read (the others are data).
 */
static bool is_step (const struct finder *finder)
{
    int used = 0;
    int updated = 0;

    for (int i = 0; i < finder->n_given; i++) {
        const struct given *given = &finder->given[i];

        if (is_real (given->array) && given->array->rank > 0 && given->used) {
            used++;
            updated += given->updated;
        }
    }
    return used > 0 && 2 * updated >= used;
}

/* Keys of random generators are not data. */
static bool is_seed (const struct dn_hlo *module, const struct dn_hlo_array *array)
{
    return array->letter == 'u' && dn_hlo_elements (module, array) <= 4;
}

/* A score of how likely a parameter is data. */
static double data_score (const struct finder *finder,
                          const struct given *given,
                          bool step)
{
    const struct dn_hlo *module = finder->module;
    const struct dn_hlo_computation *entry = dn_hlo_computation (module, module->entry);
    const struct dn_hlo_instruction *root = dn_hlo_at (module, entry->root);
    int64_t first;
    double score = 0;

    if (given->array->rank == 0 || is_seed (module, given->array)
        || (step && given->updated))
        return 0;
    first = dn_hlo_dims (module, given->array)[0];
    if (!is_real (given->array))
        score += 4;
    if (step)
        score += 3;
    for (int i = 0; !step && i < root->n_arrays && i < 64; i++) {
        const struct dn_hlo_array *result = dn_hlo_result (module, root, i);

        if (result->rank > 0 && dn_hlo_dims (module, result)[0] == first) {
            score += 3;
            break;
        }
    }
    return score + (score > 0 && given->used ? 1 : 0);
}

#define CANDIDATES_MAX 64

/* The most likely leading dimension of the data; 0 if there is no data. */
static double find_batch (const struct finder *finder, bool step)
{
    double sizes[CANDIDATES_MAX];
    double scores[CANDIDATES_MAX];
    int n = 0;
    int best = -1;

    for (int i = 0; i < finder->n_given; i++) {
        double score = data_score (finder, &finder->given[i], step);
        double size;
        int at = 0;

        if (score <= 0)
            continue;
        size = (double) dn_hlo_dims (finder->module, finder->given[i].array)[0];
        while (at < n && sizes[at] != size)
            at++;
        if (at == CANDIDATES_MAX || size < 1)
            continue;
        if (at == n) {
            sizes[n] = size;
            scores[n++] = 0;
        }
        scores[at] += score;
        if (best < 0 || scores[at] > scores[best])
            best = at;
    }
    return best < 0 ? 0 : sizes[best];
}

static void mark_data (struct finder *finder, struct dn_hlo_entry *entry)
{
    for (int i = 0; i < finder->n_given; i++) {
        struct given *given = &finder->given[i];
        bool first =
            given->array->rank > 0
            && (double) dn_hlo_dims (finder->module, given->array)[0] == entry->batch;

        given->data = given->array->rank > 0 && !(entry->step && given->updated)
                      && !is_seed (finder->module, given->array)
                      && (first || !is_real (given->array));
        if (!given->data)
            continue;
        entry->data_elements += given->elements;
        entry->data_bytes += dn_hlo_bytes (finder->module, given->array);
    }
}

static int order_given (const void *a, const void *b)
{
    return order_keys (&((const struct given *) a)->key,
                       &((const struct given *) b)->key);
}

/* Learned arrays and those of an optimizer have the same shapes. The arrays that
 * products read are the learned ones, which gives the number of copies per learned
 * array.
 */
static void count_weights (struct finder *finder, struct dn_hlo_entry *entry)
{
    double all = 0;
    double arrays = 0;
    double read = 0;
    double like = 0;

    qsort (
        finder->given, (size_t) finder->n_given, sizeof (*finder->given), order_given);
    for (int i = 0; i < finder->n_given;) {
        const struct given *given = &finder->given[i];
        double same_used = 0;
        double same = 0;
        int end = i;

        for (; end < finder->n_given && finder->given[end].key == given->key; end++) {
            const struct given *other = &finder->given[end];

            if (other->data || !is_real (other->array) || other->array->rank == 0)
                continue;
            same += other->elements;
            same_used += other->used ? other->elements : 0;
            arrays++;
        }
        all += same;
        if (same_used > 0) {
            read += same_used;
            like += same;
        }
        i = end;
    }
    entry->states = entry->step && read > 0 ? round (like / read) - 1 : 0;
    entry->params = floor (all / (entry->states + 1));
    entry->tensors = floor (arrays / (entry->states + 1));
}

static int keep_shapes (const struct finder *finder,
                        struct dn_hlo_entry *entry,
                        struct dn_err *err)
{
    size_t most = 2 * (size_t) finder->n_given + 1;

    entry->weights = calloc (most, sizeof (*entry->weights));
    if (!entry->weights)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < finder->n_given; i++) {
        const struct given *given = &finder->given[i];

        if (given->data || !is_real (given->array) || given->array->rank == 0)
            continue;
        entry->weights[entry->n_weights++] =
            shape_key (finder->module, given->array, 0, true);
        /* Weights of equal layers, stacked for a loop over the layers. */
        if (given->array->rank > 2)
            entry->weights[entry->n_weights++] =
                shape_key (finder->module, given->array, 1, true);
    }
    qsort (entry->weights,
           (size_t) entry->n_weights,
           sizeof (entry->weights[0]),
           order_keys);
    return 0;
}

static int find (struct finder *finder,
                 enum dn_hlo_pass pass,
                 struct dn_hlo_entry *entry,
                 struct dn_err *err)
{
    find_used (finder);
    list_given (finder);
    entry->step =
        pass == DN_HLO_PASS_GUESS ? is_step (finder) : pass == DN_HLO_PASS_STEP;
    if (entry->batch <= 0)
        entry->batch = find_batch (finder, entry->step);
    if (entry->batch <= 0 && pass == DN_HLO_PASS_GUESS && entry->step) {
        /* A function that returns an array of its parameter's shape is no step. */
        entry->step = false;
        entry->batch = find_batch (finder, false);
    }
    if (entry->batch <= 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "batch: not found in the parameters of the entry, "
                           "expected --batch=N");
    mark_data (finder, entry);
    count_weights (finder, entry);
    return keep_shapes (finder, entry, err);
}

static size_t count_parameters (const struct dn_hlo *module)
{
    size_t n = 0;

    for (int c = 0; c < module->computations.n; c++)
        n += (size_t) dn_hlo_computation (module, c)->n_parameters;
    return n;
}

int dn_hlo_entry_find (const struct dn_hlo *module,
                       enum dn_hlo_pass pass,
                       double batch,
                       struct dn_hlo_entry *entry,
                       struct dn_err *err)
{
    size_t n_arrays = (size_t) module->arrays.n + 1;
    struct finder finder = {.module = module};
    int rc;

    *entry = (struct dn_hlo_entry){.batch = batch};
    finder.given = calloc (n_arrays, sizeof (*finder.given));
    finder.results = calloc (n_arrays, sizeof (*finder.results));
    finder.used = calloc (n_arrays, sizeof (*finder.used));
    finder.parameters =
        calloc (count_parameters (module) + 1, sizeof (*finder.parameters));
    finder.first_of =
        calloc ((size_t) module->computations.n, sizeof (*finder.first_of));
    finder.passes = calloc ((size_t) module->computations.n, sizeof (*finder.passes));
    if (finder.passes && finder.given && finder.results && finder.used
        && finder.parameters && finder.first_of)
        rc = find (&finder, pass, entry, err);
    else
        rc = dn_err_set (err, DN_E_NOMEM, "out of memory");
    free (finder.given);
    free (finder.results);
    free (finder.used);
    free (finder.parameters);
    free (finder.first_of);
    free (finder.passes);
    if (rc < 0)
        dn_hlo_entry_free (entry);
    return rc;
}

void dn_hlo_entry_free (struct dn_hlo_entry *entry)
{
    if (!entry)
        return;
    free (entry->weights);
    *entry = (struct dn_hlo_entry){.batch = 0};
}
