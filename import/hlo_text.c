/* hlo_text.c - the text of an XLA HLO module, parsed
 *
 * One pass, a cursor, no recursion. The grammar is that of XLA's printer:
 *     HloModule name, attribute, ...
 *     [ENTRY] name [(parameters) -> shape] {
 *       [ROOT] name = shape opcode(operands), attribute=value, ...
 *     }
 * with "%" before names and shapes before operands if the printer was set so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hlo_text.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the pools; each takes an eighth to half a GiB. */
#define INSTRUCTIONS_MAX 2000000
#define POOL_MAX         16000000

/* Tuples of tuples: three levels are seen. */
#define SHAPE_DEPTH_MAX 32

/* Limit of a dimension; 2^40 elements take at least half a TiB. */
#define DIM_MAX (INT64_C (1) << 40)

static const struct op_name {
    const char *name;
    enum dn_hlo_op op;
} op_names[] = {
    {"abs", DN_HLO_ARITHMETIC},
    {"add", DN_HLO_ADD},
    {"add-dependency", DN_HLO_FREE},
    {"after-all", DN_HLO_FREE},
    {"all-gather", DN_HLO_COLLECTIVE},
    {"all-gather-done", DN_HLO_FREE},
    {"all-gather-start", DN_HLO_COLLECTIVE},
    {"all-reduce", DN_HLO_ALL_REDUCE},
    {"all-reduce-done", DN_HLO_FREE},
    {"all-reduce-start", DN_HLO_ALL_REDUCE},
    {"all-to-all", DN_HLO_COLLECTIVE},
    {"and", DN_HLO_AND},
    {"async-done", DN_HLO_FREE},
    {"async-start", DN_HLO_ASYNC},
    {"async-update", DN_HLO_FREE},
    {"atan2", DN_HLO_TRANSCENDENTAL},
    {"bitcast", DN_HLO_FREE},
    {"bitcast-convert", DN_HLO_ARITHMETIC},
    {"broadcast", DN_HLO_BROADCAST},
    {"call", DN_HLO_CALL},
    {"cbrt", DN_HLO_TRANSCENDENTAL},
    {"ceil", DN_HLO_ARITHMETIC},
    {"cholesky", DN_HLO_CHOLESKY},
    {"clamp", DN_HLO_ARITHMETIC},
    {"collective-broadcast", DN_HLO_COLLECTIVE},
    {"collective-permute", DN_HLO_COLLECTIVE},
    {"collective-permute-done", DN_HLO_FREE},
    {"collective-permute-start", DN_HLO_COLLECTIVE},
    {"compare", DN_HLO_COMPARE},
    {"complex", DN_HLO_ARITHMETIC},
    {"concatenate", DN_HLO_MOVE},
    {"conditional", DN_HLO_CONDITIONAL},
    {"constant", DN_HLO_CONSTANT},
    {"convert", DN_HLO_CONVERT},
    {"convolution", DN_HLO_CONVOLUTION},
    {"copy", DN_HLO_COPY},
    {"copy-done", DN_HLO_FREE},
    {"copy-start", DN_HLO_COPY},
    {"cosine", DN_HLO_TRANSCENDENTAL},
    {"count-leading-zeros", DN_HLO_ARITHMETIC},
    {"custom-call", DN_HLO_CUSTOM},
    {"divide", DN_HLO_ARITHMETIC},
    {"domain", DN_HLO_FREE},
    {"dot", DN_HLO_DOT},
    {"dynamic-reshape", DN_HLO_RESHAPE},
    {"dynamic-slice", DN_HLO_SLICE},
    {"dynamic-update-slice", DN_HLO_UPDATE_SLICE},
    {"erf", DN_HLO_TRANSCENDENTAL},
    {"exponential", DN_HLO_TRANSCENDENTAL},
    {"exponential-minus-one", DN_HLO_TRANSCENDENTAL},
    {"fft", DN_HLO_FFT},
    {"floor", DN_HLO_ARITHMETIC},
    {"fusion", DN_HLO_FUSION},
    {"gather", DN_HLO_GATHER},
    {"get-tuple-element", DN_HLO_ELEMENT},
    {"imag", DN_HLO_ARITHMETIC},
    {"iota", DN_HLO_BROADCAST},
    {"is-finite", DN_HLO_ARITHMETIC},
    {"log", DN_HLO_TRANSCENDENTAL},
    {"log-plus-one", DN_HLO_TRANSCENDENTAL},
    {"logistic", DN_HLO_TRANSCENDENTAL},
    {"map", DN_HLO_MAP},
    {"maximum", DN_HLO_ARITHMETIC},
    {"minimum", DN_HLO_ARITHMETIC},
    {"multiply", DN_HLO_ARITHMETIC},
    {"negate", DN_HLO_ARITHMETIC},
    {"not", DN_HLO_ARITHMETIC},
    {"opt-barrier", DN_HLO_FREE},
    {"or", DN_HLO_ARITHMETIC},
    {"pad", DN_HLO_MOVE},
    {"parameter", DN_HLO_PARAMETER},
    {"partition-id", DN_HLO_FREE},
    {"popcnt", DN_HLO_ARITHMETIC},
    {"power", DN_HLO_TRANSCENDENTAL},
    {"real", DN_HLO_ARITHMETIC},
    {"reduce", DN_HLO_REDUCE},
    {"reduce-precision", DN_HLO_ARITHMETIC},
    {"reduce-scatter", DN_HLO_ALL_REDUCE},
    {"reduce-window", DN_HLO_REDUCE_WINDOW},
    {"remainder", DN_HLO_ARITHMETIC},
    {"replica-id", DN_HLO_FREE},
    {"reshape", DN_HLO_RESHAPE},
    {"reverse", DN_HLO_MOVE},
    {"rng", DN_HLO_RNG},
    {"rng-bit-generator", DN_HLO_RNG},
    {"rng-get-and-update-state", DN_HLO_FREE},
    {"round-nearest-afz", DN_HLO_ARITHMETIC},
    {"round-nearest-even", DN_HLO_ARITHMETIC},
    {"rsqrt", DN_HLO_TRANSCENDENTAL},
    {"scatter", DN_HLO_SCATTER},
    {"select", DN_HLO_ARITHMETIC},
    {"select-and-scatter", DN_HLO_SELECT_AND_SCATTER},
    {"shift-left", DN_HLO_ARITHMETIC},
    {"shift-right-arithmetic", DN_HLO_ARITHMETIC},
    {"shift-right-logical", DN_HLO_ARITHMETIC},
    {"sign", DN_HLO_ARITHMETIC},
    {"sine", DN_HLO_TRANSCENDENTAL},
    {"slice", DN_HLO_SLICE},
    {"sort", DN_HLO_SORT},
    {"sqrt", DN_HLO_TRANSCENDENTAL},
    {"stochastic-convert", DN_HLO_ARITHMETIC},
    {"subtract", DN_HLO_ARITHMETIC},
    {"tan", DN_HLO_TRANSCENDENTAL},
    {"tanh", DN_HLO_TRANSCENDENTAL},
    {"transpose", DN_HLO_MOVE},
    {"triangular-solve", DN_HLO_TRIANGULAR},
    {"tuple", DN_HLO_TUPLE},
    {"while", DN_HLO_WHILE},
    {"xor", DN_HLO_ARITHMETIC},
};

static const struct type_name {
    const char *name;
    int16_t half_bytes;
    char letter;
} type_names[] = {
    {"f32", 8, 'f'},  {"bf16", 4, 'b'}, {"f16", 4, 'f'},   {"s32", 8, 's'},
    {"pred", 2, 'p'}, {"u32", 8, 'u'},  {"s8", 2, 's'},    {"u8", 2, 'u'},
    {"s64", 16, 's'}, {"f64", 16, 'f'}, {"token", 0, 't'}, {"u64", 16, 'u'},
    {"s16", 4, 's'},  {"u16", 4, 'u'},  {"c64", 16, 'c'},  {"c128", 32, 'c'},
    {"s4", 1, 's'},   {"u4", 1, 'u'},   {"s2", 1, 's'},    {"u2", 1, 'u'},
    {"s1", 1, 's'},   {"u1", 1, 'u'},   {"tf32", 8, 'f'},  {"opaque", 0, 't'},
};

/* The index of a name: of an instruction in its computation, or of a computation. */
struct slot {
    uint64_t hash;
    int place; /* + 1; 0 is empty */
};

struct parser {
    const char *at;
    const char *end;
    const char *start;
    struct dn_hlo *module;
    struct dn_err *err;
    struct slot *slots;
    size_t n_slots; /* a power of two */
    size_t n_used;
    struct dn_hlo_computation *open; /* the computation being read */
};

static int fail (const struct parser *parser, const char *what, struct dn_span found)
{
    int line = 1;

    for (const char *c = parser->start; c < parser->at && c < parser->end; c++)
        line += *c == '\n';
    return dn_err_set (parser->err,
                       DN_E_SYNTAX,
                       "line %d: %s, found '%s'",
                       line,
                       what,
                       dn_quote (found.text, found.len).text);
}

/* The text at the cursor, for errors. */
static struct dn_span here (const struct parser *parser)
{
    struct dn_span span = {parser->at, 0};

    while (parser->at + span.len < parser->end && span.len < DN_QUOTE_MAX
           && parser->at[span.len] != '\n')
        span.len++;
    return span;
}

static int expected (const struct parser *parser, const char *what)
{
    return fail (parser, what, here (parser));
}

/* Make room for one more of 'size' bytes. NULL with the error set. */
static void *push (const struct parser *parser,
                   struct dn_hlo_pool *pool,
                   size_t size,
                   int max)
{
    int capacity = pool->capacity ? 2 * pool->capacity : 256;
    void *grown;

    if (pool->n == max) {
        dn_err_set (parser->err,
                    DN_E_LIMIT,
                    "more than %d instructions, operands or dimensions",
                    max);
        return NULL;
    }
    if (pool->n == pool->capacity) {
        grown = reallocarray (pool->list, (size_t) capacity, size);
        if (!grown) {
            dn_err_set (parser->err, DN_E_NOMEM, "out of memory");
            return NULL;
        }
        pool->list = grown;
        pool->capacity = capacity;
    }
    return (char *) pool->list + size * (size_t) pool->n++;
}

static int push_int (const struct parser *parser, struct dn_hlo_pool *pool, int value)
{
    int *slot = push (parser, pool, sizeof (*slot), POOL_MAX);

    if (!slot)
        return -1;
    *slot = value;
    return 0;
}

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_' || c == '.' || c == '-' || c == '$' || c == ':';
}

static bool looking_at (const struct parser *parser, const char *word)
{
    size_t len = strlen (word);

    return (size_t) (parser->end - parser->at) >= len
           && memcmp (parser->at, word, len) == 0;
}

/* Blanks and comments. */
static void skip_blanks (struct parser *parser)
{
    while (parser->at < parser->end) {
        if (is_blank (*parser->at)) {
            parser->at++;
        } else if (looking_at (parser, "/*")) {
            parser->at += 2;
            while (parser->at < parser->end && !looking_at (parser, "*/"))
                parser->at++;
            parser->at += parser->at < parser->end ? 2 : 0;
        } else {
            return;
        }
    }
}

static bool take (struct parser *parser, const char *word)
{
    skip_blanks (parser);
    if (!looking_at (parser, word))
        return false;
    parser->at += strlen (word);
    return true;
}

static bool take_word (struct parser *parser, const char *word)
{
    const char *old = parser->at;

    if (take (parser, word) && (parser->at == parser->end || !is_name (*parser->at)))
        return true;
    parser->at = old;
    return false;
}

static void skip_line (struct parser *parser)
{
    const char *newline =
        memchr (parser->at, '\n', (size_t) (parser->end - parser->at));

    parser->at = newline ? newline + 1 : parser->end;
}

static struct dn_span take_name (struct parser *parser)
{
    struct dn_span name;

    skip_blanks (parser);
    if (parser->at < parser->end && *parser->at == '%')
        parser->at++;
    name = (struct dn_span){parser->at, 0};
    while (parser->at < parser->end && is_name (*parser->at))
        parser->at++;
    name.len = (size_t) (parser->at - name.text);
    return name;
}

/* The position after the string whose opening quote is at 'c'. */
static const char *skip_string (const char *c, const char *end)
{
    for (c++; c < end && *c != '"'; c++)
        if (*c == '\\' && c + 1 < end)
            c++;
    return c < end ? c + 1 : end;
}

/* From 'c' to the first of 'stops' outside of brackets and strings, or 'end'. A bracket
 * that closes more than was opened stops too.
 */
static const char *skip_to (const char *c, const char *end, const char *stops)
{
    int64_t depth = 0;

    while (c < end) {
        if (depth == 0 && strchr (stops, *c) && *c)
            return c;
        if (*c == '"') {
            c = skip_string (c, end);
            continue;
        }
        if (*c == '(' || *c == '[' || *c == '{')
            depth++;
        if ((*c == ')' || *c == ']' || *c == '}') && depth-- == 0)
            return c;
        c++;
    }
    return end;
}

/* FNV-1a over the number of the computation and the name. */
static uint64_t hash_name (struct dn_span name, int of)
{
    uint64_t hash = UINT64_C (14695981039346656037) ^ (uint64_t) of;

    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char) name.text[i]) * UINT64_C (1099511628211);
    return hash ^ hash >> 32;
}

static bool same (struct dn_span a, struct dn_span b)
{
    return a.len == b.len && memcmp (a.text, b.text, a.len) == 0;
}

/* The scope of the names of computations. */
#define OF_MODULE (-1)

static struct dn_span name_at (const struct parser *parser, int of, int place)
{
    return of == OF_MODULE ? dn_hlo_computation (parser->module, place)->name
                           : dn_hlo_at (parser->module, place)->name;
}

static size_t find_slot (const struct parser *parser, struct dn_span name, int of)
{
    uint64_t hash = hash_name (name, of);
    size_t at = hash & (parser->n_slots - 1);

    while (parser->slots[at].place > 0
           && (parser->slots[at].hash != hash
               || !same (name_at (parser, of, parser->slots[at].place - 1), name)))
        at = (at + 1) & (parser->n_slots - 1);
    return at;
}

static int grow_slots (struct parser *parser)
{
    size_t n = parser->n_slots ? 2 * parser->n_slots : 1024;
    struct slot *slots = calloc (n, sizeof (*slots));

    if (!slots)
        return dn_err_set (parser->err, DN_E_NOMEM, "out of memory");
    for (size_t i = 0; i < parser->n_slots; i++) {
        size_t at = parser->slots[i].hash & (n - 1);

        if (parser->slots[i].place == 0)
            continue;
        while (slots[at].place > 0)
            at = (at + 1) & (n - 1);
        slots[at] = parser->slots[i];
    }
    free (parser->slots);
    parser->slots = slots;
    parser->n_slots = n;
    return 0;
}

static int add_name (struct parser *parser, struct dn_span name, int of, int place)
{
    size_t at;

    if (2 * parser->n_used >= parser->n_slots && grow_slots (parser) < 0)
        return -1;
    at = find_slot (parser, name, of);
    if (parser->slots[at].place > 0)
        return fail (parser, "expected a unique name", name);
    parser->slots[at] = (struct slot){hash_name (name, of), place + 1};
    parser->n_used++;
    return 0;
}

/* The index of a name, or -1. */
static int find_name (const struct parser *parser, struct dn_span name, int of)
{
    return parser->n_slots == 0 ? -1
                                : parser->slots[find_slot (parser, name, of)].place - 1;
}

static struct type_name find_type (struct dn_span name)
{
    struct type_name unknown = {"", 8, 'f'};

    for (size_t i = 0; i < DN_N_ELEMENTS (type_names); i++)
        if (dn_span_is (name, type_names[i].name))
            return type_names[i];
    if (name.len > 2 && memcmp (name.text, "f8", 2) == 0)
        unknown.half_bytes = 2;
    if (name.len > 2 && memcmp (name.text, "f4", 2) == 0)
        unknown.half_bytes = 1;
    return unknown;
}

static int read_dims (struct parser *parser, struct dn_hlo_array *array)
{
    array->first_dim = parser->module->dims.n;
    if (!take (parser, "["))
        return expected (parser, "expected '[' of a shape");
    while (!take (parser, "]")) {
        int64_t value = 0;
        int64_t *slot;
        const char *begin;

        take (parser, ",");
        take (parser, "<=");
        skip_blanks (parser);
        begin = parser->at;
        for (; parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
             parser->at++)
            value = value > DIM_MAX ? value : 10 * value + (*parser->at - '0');
        if (parser->at == begin || value > DIM_MAX)
            return expected (parser, "expected a dimension up to 2^40");
        if (array->rank++ == DN_HLO_RANK_MAX)
            return expected (parser, "expected at most 16 dimensions");
        slot = push (parser, &parser->module->dims, sizeof (*slot), POOL_MAX);
        if (!slot)
            return -1;
        *slot = value;
    }
    return 0;
}

static int read_array (struct parser *parser)
{
    struct dn_span name = take_name (parser);
    struct type_name type = find_type (name);
    struct dn_hlo_array array = {.half_bytes = type.half_bytes, .letter = type.letter};
    struct dn_hlo_array *slot;

    if (name.len == 0)
        return expected (parser, "expected a shape");
    if (read_dims (parser, &array) < 0)
        return -1;
    if (parser->at < parser->end && *parser->at == '{') { /* the layout */
        parser->at = skip_to (parser->at + 1, parser->end, "");
        parser->at += parser->at < parser->end;
    }
    slot = push (parser, &parser->module->arrays, sizeof (*slot), POOL_MAX);
    if (!slot)
        return -1;
    *slot = array;
    return 0;
}

/* A shape: an array, or a tuple, whose arrays are listed one after the other. */
static int read_shape (struct parser *parser, bool *flat)
{
    int depth = 0;
    int deepest = 0;

    for (;;) {
        while (take (parser, "(")) {
            if (++depth > SHAPE_DEPTH_MAX)
                return expected (parser, "expected a tuple at most 32 deep");
            deepest = depth > deepest ? depth : deepest;
        }
        skip_blanks (parser);
        if (!(depth > 0 && parser->at < parser->end && *parser->at == ')')
            && read_array (parser) < 0)
            return -1;
        while (depth > 0 && take (parser, ")"))
            depth--;
        *flat = deepest <= 1;
        if (depth == 0)
            return 0;
        if (!take (parser, ","))
            return expected (parser, "expected ',' or ')' of a tuple");
    }
}

static enum dn_hlo_op find_op (struct dn_span name)
{
    size_t low = 0;
    size_t high = DN_N_ELEMENTS (op_names);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = op_names[middle].name;
        int order = strncmp (name.text, other, name.len);

        if (order == 0 && strlen (other) == name.len)
            return op_names[middle].op;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return DN_HLO_OTHER;
}

/* One operand: a name, with its shape before it in some modules. */
static int read_operand (struct parser *parser)
{
    struct dn_hlo *module = parser->module;
    struct dn_hlo_pool arrays = module->arrays;
    struct dn_hlo_pool dims = module->dims;
    struct dn_span name;
    bool flat;
    int place;

    skip_blanks (parser);
    name = looking_at (parser, "(") ? (struct dn_span){NULL, 0} : take_name (parser);
    skip_blanks (parser);
    if (name.len == 0 || looking_at (parser, "[")) {
        if (name.len > 0)
            parser->at = name.text;
        if (read_shape (parser, &flat) < 0)
            return -1;
        /* The operand has the same shape. */
        module->arrays.n = arrays.n;
        module->dims.n = dims.n;
        name = take_name (parser);
    }
    place = find_name (parser, name, module->computations.n);
    if (name.len == 0 || place < 0)
        return fail (parser, "expected an operand defined above", name);
    return push_int (parser, &module->operands, place);
}

static int read_operands (struct parser *parser, struct dn_hlo_instruction *instruction)
{
    struct dn_hlo *module = parser->module;

    instruction->first_operand = module->operands.n;
    if (instruction->op == DN_HLO_CONSTANT || instruction->op == DN_HLO_PARAMETER) {
        parser->at = skip_to (parser->at, parser->end, "");
    } else {
        skip_blanks (parser);
        while (parser->at < parser->end && *parser->at != ')') {
            if (read_operand (parser) < 0)
                return -1;
            if (!take (parser, ","))
                break;
        }
    }
    instruction->n_operands = module->operands.n - instruction->first_operand;
    instruction->arguments.len = (size_t) (parser->at - instruction->arguments.text);
    if (!take (parser, ")"))
        return expected (parser, "expected ')' after operands");
    return 0;
}

static bool is_callee (struct dn_span key)
{
    static const char *const keys[] = {"calls",
                                       "to_apply",
                                       "body",
                                       "condition",
                                       "select",
                                       "scatter",
                                       "true_computation",
                                       "false_computation",
                                       "branch_computations",
                                       "called_computations"};

    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if (dn_span_is (key, keys[i]))
            return true;
    return false;
}

/* "%a" or "{%a, %b}" */
static int read_callees (struct parser *parser, struct dn_span value)
{
    struct dn_span name;

    while ((name = dn_span_cut (&value, "{}, %")).text) {
        int place = name.len > 0 ? find_name (parser, name, OF_MODULE) : 0;

        if (name.len == 0)
            continue;
        if (place < 0)
            return fail (
                parser, "expected a computation above (no cycles of calls)", name);
        if (push_int (parser, &parser->module->callees, place) < 0)
            return -1;
    }
    return 0;
}

static int read_attributes (struct parser *parser,
                            struct dn_hlo_instruction *instruction)
{
    struct dn_span rest;
    struct dn_span key;
    struct dn_span value;

    instruction->attributes.text = parser->at;
    parser->at = skip_to (parser->at, parser->end, "\n");
    instruction->attributes.len = (size_t) (parser->at - instruction->attributes.text);
    instruction->first_callee = parser->module->callees.n;
    rest = instruction->attributes;
    while (dn_hlo_attribute_next (&rest, &key, &value))
        if (is_callee (key) && read_callees (parser, value) < 0)
            return -1;
    /* A loop's body comes first, in whichever order they are printed. */
    instruction->n_callees = parser->module->callees.n - instruction->first_callee;
    if (instruction->op == DN_HLO_WHILE && instruction->n_callees == 2) {
        int *pair = (int *) parser->module->callees.list + instruction->first_callee;
        struct dn_span body = dn_hlo_attribute (instruction, "body");
        struct dn_span bare = dn_span_cut (&body, "%");

        if (bare.len == 0)
            bare = body;
        if (!same (name_at (parser, OF_MODULE, pair[0]), dn_span_trim (bare))) {
            int first = pair[0];

            pair[0] = pair[1];
            pair[1] = first;
        }
    }
    return 0;
}

static int read_instruction (struct parser *parser)
{
    struct dn_hlo *module = parser->module;
    struct dn_hlo_instruction instruction = {.op = DN_HLO_OTHER};
    struct dn_hlo_instruction *slot;
    bool root = take_word (parser, "ROOT");
    struct dn_span opcode;

    instruction.name = take_name (parser);
    if (instruction.name.len == 0)
        return expected (parser, "expected an instruction or '}'");
    if (!take (parser, "="))
        return expected (parser, "expected '=' after the instruction's name");
    instruction.first_array = module->arrays.n;
    if (read_shape (parser, &instruction.flat) < 0)
        return -1;
    instruction.n_arrays = module->arrays.n - instruction.first_array;
    opcode = take_name (parser);
    instruction.op = find_op (opcode);
    if (opcode.len == 0 || !take (parser, "("))
        return expected (parser, "expected an opcode and '('");
    instruction.arguments.text = parser->at;
    if (read_operands (parser, &instruction) < 0
        || read_attributes (parser, &instruction) < 0)
        return -1;
    if (root)
        parser->open->root = module->instructions.n;
    parser->open->n_parameters += instruction.op == DN_HLO_PARAMETER;
    module->optimised |= instruction.op == DN_HLO_FUSION;
    slot = push (parser, &module->instructions, sizeof (*slot), INSTRUCTIONS_MAX);
    if (!slot)
        return -1;
    *slot = instruction;
    return add_name (
        parser, instruction.name, module->computations.n, module->instructions.n - 1);
}

/* Between name and '{': "(a: f32[8]) -> f32[8]". */
static int read_signature (struct parser *parser)
{
    struct dn_hlo_pool arrays = parser->module->arrays;
    struct dn_hlo_pool dims = parser->module->dims;
    bool flat;

    if (!take (parser, "("))
        return 0;
    parser->at = skip_to (parser->at, parser->end, "");
    if (!take (parser, ")") || !take (parser, "->"))
        return expected (parser, "expected '->' after parameters");
    if (read_shape (parser, &flat) < 0)
        return -1;
    parser->module->arrays.n = arrays.n;
    parser->module->dims.n = dims.n;
    return 0;
}

static int read_computation (struct parser *parser)
{
    struct dn_hlo *module = parser->module;
    struct dn_hlo_computation computation = {.root = -1};
    struct dn_hlo_computation *slot;
    bool entry = take_word (parser, "ENTRY");

    computation.name = take_name (parser);
    computation.first = module->instructions.n;
    if (computation.name.len == 0)
        return expected (parser, "expected a computation");
    if (read_signature (parser) < 0)
        return -1;
    if (!take (parser, "{"))
        return expected (parser, "expected '{' of a computation");
    /* cppcheck-suppress autoVariables ; until the end of its instructions, below */
    parser->open = &computation;
    while (!take (parser, "}"))
        if (read_instruction (parser) < 0)
            return -1;
    skip_line (parser); /* "}, execution_thread=..." */
    parser->open = NULL;
    computation.n = module->instructions.n - computation.first;
    if (computation.n == 0)
        return fail (parser, "expected instructions", computation.name);
    if (computation.root < 0)
        computation.root = module->instructions.n - 1;
    if (entry)
        module->entry = module->computations.n;
    slot = push (parser, &module->computations, sizeof (*slot), INSTRUCTIONS_MAX);
    if (!slot)
        return -1;
    *slot = computation;
    return add_name (parser, computation.name, OF_MODULE, module->computations.n - 1);
}

/* Tables of source lines, which newer versions print: a title, numbered lines. */
static bool skip_table (struct parser *parser)
{
    static const char *const titles[] = {
        "FileNames", "FunctionNames", "FileLocations", "StackFrames"};
    bool table = *parser->at >= '0' && *parser->at <= '9';

    for (size_t i = 0; i < DN_N_ELEMENTS (titles); i++)
        table = table || take_word (parser, titles[i]);
    if (table)
        skip_line (parser);
    return table;
}

static int read_module (struct parser *parser)
{
    struct dn_span head;

    if (!take_word (parser, "HloModule"))
        return expected (parser, "expected 'HloModule'");
    parser->module->name = take_name (parser);
    parser->module->entry = -1;
    head = (struct dn_span){parser->at, 0};
    skip_line (parser);
    head.len = (size_t) (parser->at - head.text);
    parser->module->optimised = dn_hlo_find (head, "is_scheduled=true") != NULL;
    for (;;) {
        skip_blanks (parser);
        if (parser->at == parser->end)
            break;
        if (!skip_table (parser) && read_computation (parser) < 0)
            return -1;
    }
    if (parser->module->computations.n == 0)
        return expected (parser, "expected computations");
    if (parser->module->entry < 0)
        parser->module->entry = parser->module->computations.n - 1;
    return 0;
}

int dn_hlo_parse (struct dn_span text, struct dn_hlo *module, struct dn_err *err)
{
    struct parser parser = {.at = text.text,
                            .end = text.text + text.len,
                            .start = text.text,
                            .module = module,
                            .err = err};
    int rc;

    *module = (struct dn_hlo){.entry = -1};
    if (text.len > DN_HLO_TEXT_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "more than %d bytes of HLO", DN_HLO_TEXT_MAX);
    if (memchr (text.text, '\0', text.len))
        return dn_err_set (err, DN_E_SYNTAX, "has a NUL byte, expected HLO as text");
    rc = grow_slots (&parser) < 0 ? -1 : read_module (&parser);
    free (parser.slots);
    if (rc < 0)
        dn_hlo_free (module);
    return rc;
}

void dn_hlo_free (struct dn_hlo *module)
{
    if (!module)
        return;
    free (module->computations.list);
    free (module->instructions.list);
    free (module->arrays.list);
    free (module->dims.list);
    free (module->operands.list);
    free (module->callees.list);
    *module = (struct dn_hlo){.entry = -1};
}

const struct dn_hlo_computation *dn_hlo_computation (const struct dn_hlo *module, int i)
{
    return (const struct dn_hlo_computation *) module->computations.list + i;
}

const struct dn_hlo_instruction *dn_hlo_at (const struct dn_hlo *module, int i)
{
    return (const struct dn_hlo_instruction *) module->instructions.list + i;
}

int dn_hlo_operand (const struct dn_hlo *module,
                    const struct dn_hlo_instruction *instruction,
                    int i)
{
    return ((const int *) module->operands.list)[instruction->first_operand + i];
}

int dn_hlo_callee (const struct dn_hlo *module,
                   const struct dn_hlo_instruction *instruction,
                   int i)
{
    return ((const int *) module->callees.list)[instruction->first_callee + i];
}

const struct dn_hlo_array *dn_hlo_result (const struct dn_hlo *module,
                                          const struct dn_hlo_instruction *instruction,
                                          int i)
{
    return (const struct dn_hlo_array *) module->arrays.list + instruction->first_array
           + i;
}

const int64_t *dn_hlo_dims (const struct dn_hlo *module,
                            const struct dn_hlo_array *array)
{
    static const int64_t none[1];

    return array->rank == 0 ? none
                            : (const int64_t *) module->dims.list + array->first_dim;
}

double dn_hlo_elements (const struct dn_hlo *module, const struct dn_hlo_array *array)
{
    const int64_t *dims = dn_hlo_dims (module, array);
    double elements = 1;

    for (int i = 0; i < array->rank; i++)
        elements *= (double) dims[i];
    return elements;
}

double dn_hlo_bytes (const struct dn_hlo *module, const struct dn_hlo_array *array)
{
    return dn_hlo_elements (module, array) * array->half_bytes / 2;
}

double dn_hlo_result_bytes (const struct dn_hlo *module,
                            const struct dn_hlo_instruction *instruction)
{
    double bytes = 0;

    for (int i = 0; i < instruction->n_arrays; i++)
        bytes += dn_hlo_bytes (module, dn_hlo_result (module, instruction, i));
    return bytes;
}

bool dn_hlo_attribute_next (struct dn_span *rest,
                            struct dn_span *key,
                            struct dn_span *value)
{
    const char *end = rest->text + rest->len;
    const char *c = rest->text;

    while (c < end && (*c == ',' || is_blank (*c)))
        c++;
    key->text = c;
    while (c < end && *c != '=' && *c != ',')
        c++;
    key->len = (size_t) (c - key->text);
    if (c == end)
        return false;
    value->text = *c == '=' ? c + 1 : c;
    c = skip_to (value->text, end, ",");
    value->len = (size_t) (c - value->text);
    *rest = (struct dn_span){c, (size_t) (end - c)};
    /* A bracket that nothing opened ends the list. */
    return c == end || *c == ',';
}

struct dn_span dn_hlo_attribute (const struct dn_hlo_instruction *instruction,
                                 const char *key)
{
    struct dn_span rest = instruction->attributes;
    struct dn_span name;
    struct dn_span value;

    while (dn_hlo_attribute_next (&rest, &name, &value))
        if (dn_span_is (name, key))
            return value;
    return (struct dn_span){NULL, 0};
}

int dn_hlo_numbers (struct dn_span text, int64_t *numbers, int max)
{
    int n = 0;
    size_t i = 0;

    while (i < text.len && n < max) {
        bool negative = text.text[i] == '-';
        int64_t value = 0;

        i += negative;
        if (i >= text.len || text.text[i] < '0' || text.text[i] > '9') {
            i += !negative;
            continue;
        }
        for (; i < text.len && text.text[i] >= '0' && text.text[i] <= '9'; i++)
            value = value > DIM_MAX ? value : 10 * value + (text.text[i] - '0');
        if (value > DIM_MAX)
            break;
        numbers[n++] = negative ? -value : value;
    }
    return n;
}

const char *dn_hlo_find (struct dn_span text, const char *part)
{
    size_t len = strlen (part);

    for (size_t i = 0; i + len <= text.len; i++) {
        const char *c = memchr (text.text + i, part[0], text.len - i - len + 1);

        if (!c)
            return NULL;
        if (memcmp (c, part, len) == 0)
            return c;
        i = (size_t) (c - text.text);
    }
    return NULL;
}
