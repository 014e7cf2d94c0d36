# Exponentials and logarithms for inner loops, which compilers turn into ones that do several numbers at a time: there is
# no question and no table in them, and each number comes out the same whatever stands beside it.
# They are made of the four operations alone; exponents of two are put in and taken out as bits.
# They are written in C, because the loop over many of them is compiled once for each kind of processor: those that do
# four or eight numbers at a time get one of their own, chosen when the module is loaded. All do the same operations, so
# they give the same bits.

cdef extern from * nogil:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) \\
        && defined(__OPTIMIZE__)
    #define UNLEARNSPN_VARIANTS __attribute__((unused, target_clones("avx512f", "avx2", "default")))
    #elif defined(__GNUC__)
    #define UNLEARNSPN_VARIANTS __attribute__((unused))
    #else
    #define UNLEARNSPN_VARIANTS
    #endif

    static inline int64_t unlearnspn_bits_of(double number) {
        int64_t bits;
        memcpy(&bits, &number, 8);
        return bits;
    }

    static inline double unlearnspn_of_bits(uint64_t bits) {
        double number;
        memcpy(&number, &bits, 8);
        return number;
    }

    static inline double unlearnspn_exponential(double number) {
        // Below -708 exponentials have fewer bits, and processors are slow with such; beside 1 they are nothing.
        double x = number > -708.0 ? number : -708.0;
        // A number that is added to 1.5 * 2^52 is rounded to a whole one, which then stands in the lowest bits.
        double power = x * 1.4426950408889634 + 6755399441055744.0;
        double exponent = power - 6755399441055744.0;
        // The logarithm of 2 in two parts: products of the first and a small whole number are exact.
        double h = (x - exponent * 6.93147180369123816490e-01) - exponent * 1.90821492927058770002e-10;
        // The series, in parts that do not wait for each other.
        double h2 = h * h;
        double h4 = h2 * h2;
        double first = (1.0 + h) + h2 * (0.5 + h * (1.0 / 6.0));
        double second = (1.0 / 24.0 + h * (1.0 / 120.0)) + h2 * (1.0 / 720.0 + h * (1.0 / 5040.0));
        double third = (1.0 / 40320.0 + h * (1.0 / 362880.0)) + h2 * (1.0 / 3628800.0 + h * (1.0 / 39916800.0));
        double series = first + h4 * (second + h4 * (third + h4 * (1.0 / 479001600.0)));
        series = x > -708.0 ? series : 0.0;
        return series * unlearnspn_of_bits((uint64_t)(unlearnspn_bits_of(power) + 1023) << 52);
    }

    static inline double unlearnspn_logarithm(double x) {
        int64_t bits = unlearnspn_bits_of(x);
        int64_t fraction = (bits & 0xFFFFFFFFFFFFFLL) | 0x3FF0000000000000LL;
        // 1 if the mantissa is above the root of 2: then half of it is taken, and one more of the exponent.
        int64_t is_large = (int64_t)((uint64_t)(0x3FF6A09E667F3BCDLL - fraction) >> 63);
        double mantissa = unlearnspn_of_bits((uint64_t)(fraction - (is_large << 52)));
        // A small number in the lowest bits beside those of 2^52 is added to it.
        int64_t power = (int64_t)((uint64_t)bits >> 52) + is_large;
        double exponent = unlearnspn_of_bits((uint64_t)(power | 0x4330000000000000LL)) - 4503599627371519.0;
        double f = (mantissa - 1.0) / (mantissa + 1.0);
        // The series of atanh(f) / f in f * f, which is at most 0.03.
        double square = f * f, series = 1.0 / 21.0;
        series = series * square + 1.0 / 19.0;
        series = series * square + 1.0 / 17.0;
        series = series * square + 1.0 / 15.0;
        series = series * square + 1.0 / 13.0;
        series = series * square + 1.0 / 11.0;
        series = series * square + 1.0 / 9.0;
        series = series * square + 1.0 / 7.0;
        series = series * square + 1.0 / 5.0;
        series = series * square + 1.0 / 3.0;
        series = series * square + 1.0;
        return 2.0 * f * series + exponent * (6.93147180369123816490e-01 + 1.90821492927058770002e-10);
    }

    UNLEARNSPN_VARIANTS static void unlearnspn_raise_all(double *numbers, Py_ssize_t n) {
        for (Py_ssize_t i = 0; i < n; i++) numbers[i] = unlearnspn_exponential(numbers[i]);
    }
    """
    # exp(x) of an x of at most 0; 0 where that has fewer bits than others, or x is NaN.
    double exponential "unlearnspn_exponential"(double number)
    # log(x) of a positive normal double; what comes of others is some finite number.
    double logarithm "unlearnspn_logarithm"(double x)
    # Put exp(x) in place of each number.
    void raise_all "unlearnspn_raise_all"(double* numbers, Py_ssize_t n)
