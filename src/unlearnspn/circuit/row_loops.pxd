# Loops over many rows, each of which comes out the same whatever stands beside it. They are written in C, because they
# are compiled once for each kind of processor: those that do four or eight numbers at a time get loops of their own,
# chosen when the module is loaded. All do the same operations, so they give the same bits.

from unlearnspn.circuit.exponentials cimport raise_all  # whose UNLEARNSPN_VARIANTS is needed here

cdef extern from * nogil:
    """
    // Sums of so many rows are kept in registers.
    #define UNLEARNSPN_ROWS 16

    UNLEARNSPN_VARIANTS static void unlearnspn_add_normal(
        double *total, const double *numbers, double mean, double factor, double constant, Py_ssize_t n_rows
    ) {
        for (Py_ssize_t r = 0; r < n_rows; r++) {
            double value = numbers[r], score = (value - mean) * factor, density = constant - score * score;
            total[r] += value == value ? density : 0.0;
        }
    }

    UNLEARNSPN_VARIANTS static void unlearnspn_take_larger(double *highest, const double *line, Py_ssize_t n_rows) {
        for (Py_ssize_t r = 0; r < n_rows; r++) highest[r] = line[r] > highest[r] ? line[r] : highest[r];
    }

    UNLEARNSPN_VARIANTS static void unlearnspn_put_below(
        double *below, const double *line, const double *highest, Py_ssize_t n_rows
    ) {
        for (Py_ssize_t r = 0; r < n_rows; r++) {
            double distance = line[r] - highest[r];
            below[r] = highest[r] > -INFINITY ? distance : 0.0;
        }
    }

    UNLEARNSPN_VARIANTS static void unlearnspn_add_weighted(
        double *total, const double *line, double weight, Py_ssize_t n_rows
    ) {
        for (Py_ssize_t r = 0; r < n_rows; r++) total[r] += weight * line[r];
    }

    UNLEARNSPN_VARIANTS static void unlearnspn_sum_states(
        double *sums, const double *lines, const double *weights, Py_ssize_t n_states, Py_ssize_t n_sums,
        Py_ssize_t n_rows, Py_ssize_t width
    ) {
        for (Py_ssize_t start = 0; start < n_rows; start += 8)
            for (Py_ssize_t i = 0; i < n_sums; i++) {
                double own[8] = {0.0};
                for (Py_ssize_t state = 0; state < n_states; state++) {
                    double weight = weights[i * n_states + state];
                    const double *line = lines + state * width + start;
                    if (weight == 0.0) continue;
                    for (int k = 0; k < 8; k++) own[k] += weight * line[k];
                }
                for (int k = 0; k < 8; k++) sums[i * width + start + k] = own[k];
            }
    }

    UNLEARNSPN_VARIANTS static void unlearnspn_standardise(
        double *scores, double *squares, const double *numbers, double mean, double inverse,
        const double *slopes, const double *earlier, Py_ssize_t n_earlier, Py_ssize_t n_rows
    ) {
        Py_ssize_t start = 0;
        for (; start + UNLEARNSPN_ROWS <= n_rows; start += UNLEARNSPN_ROWS) {
            double own[UNLEARNSPN_ROWS];
            for (int k = 0; k < UNLEARNSPN_ROWS; k++) own[k] = (numbers[start + k] - mean) * inverse;
            for (Py_ssize_t j = 0; j < n_earlier; j++) {
                double slope = slopes[j];
                const double *line = earlier + j * n_rows + start;
                if (slope == 0.0) continue;
                for (int k = 0; k < UNLEARNSPN_ROWS; k++) own[k] -= slope * line[k];
            }
            for (int k = 0; k < UNLEARNSPN_ROWS; k++) scores[start + k] = own[k];
            for (int k = 0; k < UNLEARNSPN_ROWS; k++) squares[start + k] += own[k] * own[k];
        }
        for (; start < n_rows; start++) {
            double own = (numbers[start] - mean) * inverse;
            for (Py_ssize_t j = 0; j < n_earlier; j++)
                if (slopes[j] != 0.0) own -= slopes[j] * earlier[j * n_rows + start];
            scores[start] = own;
            squares[start] += own * own;
        }
    }
    """
    # Add the log-densities of a normal distribution, of which `factor` is sqrt(1/2) over the deviation; 0 for NaN.
    void add_normal "unlearnspn_add_normal"(
        double* total, const double* numbers, double mean, double factor, double constant, Py_ssize_t n_rows
    )
    # Put the larger one in place of each number.
    void take_larger "unlearnspn_take_larger"(double* highest, const double* line, Py_ssize_t n_rows)
    # Write how far below the highest each number is; 0 where the highest is minus infinity.
    void put_below "unlearnspn_put_below"(
        double* below, const double* line, const double* highest, Py_ssize_t n_rows
    )
    # Add a line times a weight.
    void add_weighted "unlearnspn_add_weighted"(double* total, const double* line, double weight, Py_ssize_t n_rows)
    # Write the sums of some lines by several lines of weights; rows are rounded up to eights, for which there is room.
    void sum_states "unlearnspn_sum_states"(
        double* sums, const double* lines, const double* weights, Py_ssize_t n_states, Py_ssize_t n_sums,
        Py_ssize_t n_rows, Py_ssize_t width
    )
    # Write what each of many numbers is by one line of a triangle, given the lines before it, and add its square.
    void standardise "unlearnspn_standardise"(
        double* scores, double* squares, const double* numbers, double mean, double inverse,
        const double* slopes, const double* earlier, Py_ssize_t n_earlier, Py_ssize_t n_rows
    )
