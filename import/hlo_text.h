/* hlo_text.h - the text of an XLA HLO module, parsed
 *
 * In: what JAX and TensorFlow print of a module, before or after its optimisation. Out:
 * its computations and instructions, with shapes, operands and attributes. The text is
 * untrusted: nothing recurses, pools have limits, and a computation may call only those
 * above it, as XLA prints them, so that no call graph has a cycle.
 *
 * Spans point into the text, which must outlive the module.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_TEXT_H
#define DN_HLO_TEXT_H

#include "base/text.h"

/* A step of a network of thousands of layers has some 100 MB of text. */
#define DN_HLO_TEXT_MAX (256 * 1024 * 1024)

/* What an instruction does, as far as its cost depends on it. */
enum dn_hlo_op {
    DN_HLO_OTHER,      /* unknown: it reads its operands and writes its result */
    DN_HLO_ARITHMETIC, /* element-wise, one operation per element */
    DN_HLO_TRANSCENDENTAL,
    DN_HLO_ADD,
    DN_HLO_AND,
    DN_HLO_COMPARE,
    DN_HLO_CONVERT,
    DN_HLO_PARAMETER,
    DN_HLO_CONSTANT,
    DN_HLO_FREE, /* no work: bitcast, barriers, half of an asynchronous pair */
    DN_HLO_TUPLE,
    DN_HLO_ELEMENT, /* get-tuple-element */
    DN_HLO_RESHAPE,
    DN_HLO_BROADCAST, /* and iota: made where it is used */
    DN_HLO_COPY,
    DN_HLO_MOVE, /* transpose, pad, concatenate ... */
    DN_HLO_SLICE,
    DN_HLO_UPDATE_SLICE,
    DN_HLO_GATHER,
    DN_HLO_SCATTER,
    DN_HLO_REDUCE,
    DN_HLO_REDUCE_WINDOW,
    DN_HLO_SELECT_AND_SCATTER,
    DN_HLO_SORT,
    DN_HLO_RNG,
    DN_HLO_MAP,
    DN_HLO_DOT,
    DN_HLO_CONVOLUTION,
    DN_HLO_CHOLESKY,
    DN_HLO_TRIANGULAR,
    DN_HLO_FFT,
    DN_HLO_WHILE,
    DN_HLO_CONDITIONAL,
    DN_HLO_CALL,
    DN_HLO_FUSION,
    DN_HLO_CUSTOM,
    DN_HLO_ALL_REDUCE, /* also reduce-scatter */
    DN_HLO_COLLECTIVE, /* the others */
    DN_HLO_ASYNC
};

/* Limit of the rank of an array. XLA allows more, but no framework uses them. */
#define DN_HLO_RANK_MAX 16

/* One array; a tuple is a list of them. */
struct dn_hlo_array {
    int first_dim;
    int16_t rank;
    int16_t half_bytes; /* of one element, times 2 */
    char letter;        /* 'f' floating point, 'b' bfloat16, 's' 'u' 'p' 'c', 't' */
};

struct dn_hlo_instruction {
    struct dn_span name;
    struct dn_span arguments;  /* between its parentheses */
    struct dn_span attributes; /* after them: ", key=value, ..." */
    enum dn_hlo_op op;
    int first_array; /* of its result */
    int n_arrays;
    int first_operand;
    int n_operands;
    int first_callee;
    int n_callees;
    bool flat; /* its result is not a tuple of tuples */
};

struct dn_hlo_computation {
    struct dn_span name;
    int first; /* instruction */
    int n;
    int root;
    int n_parameters;
};

/* A growing list. */
struct dn_hlo_pool {
    void *list;
    int n;
    int capacity;
};

struct dn_hlo {
    struct dn_span name;
    struct dn_hlo_pool computations;
    struct dn_hlo_pool instructions;
    struct dn_hlo_pool arrays;
    struct dn_hlo_pool dims;     /* int64_t */
    struct dn_hlo_pool operands; /* int: instructions of the same computation */
    struct dn_hlo_pool callees;  /* int: computations above */
    int entry;
    bool optimised; /* it has fusions, or a schedule */
};

/* Parse a module; -1 with 'err' naming the line and 'module' empty. */
int dn_hlo_parse (struct dn_span text, struct dn_hlo *module, struct dn_err *err);

/* NULL-safe. */
void dn_hlo_free (struct dn_hlo *module);

const struct dn_hlo_computation *dn_hlo_computation (const struct dn_hlo *module,
                                                     int i);
const struct dn_hlo_instruction *dn_hlo_at (const struct dn_hlo *module, int i);

/* The i-th operand or callee, which exist; and the instruction of that operand. */
int dn_hlo_operand (const struct dn_hlo *module,
                    const struct dn_hlo_instruction *instruction,
                    int i);
int dn_hlo_callee (const struct dn_hlo *module,
                   const struct dn_hlo_instruction *instruction,
                   int i);

/* The i-th array of a result, and its dimensions. */
const struct dn_hlo_array *dn_hlo_result (const struct dn_hlo *module,
                                          const struct dn_hlo_instruction *instruction,
                                          int i);
const int64_t *dn_hlo_dims (const struct dn_hlo *module,
                            const struct dn_hlo_array *array);
double dn_hlo_elements (const struct dn_hlo *module, const struct dn_hlo_array *array);
double dn_hlo_bytes (const struct dn_hlo *module, const struct dn_hlo_array *array);

/* All arrays of a result together. */
double dn_hlo_result_bytes (const struct dn_hlo *module,
                            const struct dn_hlo_instruction *instruction);

/* Cut the next "key=value" off attributes; false after the last. */
bool dn_hlo_attribute_next (struct dn_span *rest,
                            struct dn_span *key,
                            struct dn_span *value);

/* The value of an attribute; its text is NULL if there is none. */
struct dn_span dn_hlo_attribute (const struct dn_hlo_instruction *instruction,
                                 const char *key);

/* Whole numbers in a text, at most 'max': "{0,2}" has two. Return how many. A number
 * too large for a dimension ends the list.
 */
int dn_hlo_numbers (struct dn_span text, int64_t *numbers, int max);

/* The position of 'part' in the text, NULL if it is not in it. */
const char *dn_hlo_find (struct dn_span text, const char *part);

#endif
