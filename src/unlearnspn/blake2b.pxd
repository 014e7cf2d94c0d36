# BLAKE2b (RFC 7693) of messages of words, for inner loops: to call a library for a record takes longer than to digest
# it. Words are taken as the library takes their bytes on a machine whose least byte comes first.

cdef extern from *:
    """
    typedef unsigned long long unlearnspn_word;

    static const unlearnspn_word unlearnspn_roots[8] = {
        0x6A09E667F3BCC908ULL, 0xBB67AE8584CAA73BULL, 0x3C6EF372FE94F82BULL, 0xA54FF53A5F1D36F1ULL,
        0x510E527FADE682D1ULL, 0x9B05688C2B3E6C1FULL, 0x1F83D9ABFB41BD6BULL, 0x5BE0CD19137E2179ULL};

    static const unsigned char unlearnspn_order[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

    #define UNLEARNSPN_TURN(word, n_bits) (((word) >> (n_bits)) | ((word) << (64 - (n_bits))))
    #define UNLEARNSPN_STIR(round, i, a, b, c, d) \\
        a += b + block[unlearnspn_order[round][2 * i]]; \\
        d = UNLEARNSPN_TURN(d ^ a, 32); \\
        c += d; \\
        b = UNLEARNSPN_TURN(b ^ c, 24); \\
        a += b + block[unlearnspn_order[round][2 * i + 1]]; \\
        d = UNLEARNSPN_TURN(d ^ a, 16); \\
        c += d; \\
        b = UNLEARNSPN_TURN(b ^ c, 63);
    /* The round is a constant, so that the compiler knows which words of the block it takes. */
    #define UNLEARNSPN_ROUND(round) \\
        UNLEARNSPN_STIR(round, 0, v[0], v[4], v[8], v[12]) \\
        UNLEARNSPN_STIR(round, 1, v[1], v[5], v[9], v[13]) \\
        UNLEARNSPN_STIR(round, 2, v[2], v[6], v[10], v[14]) \\
        UNLEARNSPN_STIR(round, 3, v[3], v[7], v[11], v[15]) \\
        UNLEARNSPN_STIR(round, 4, v[0], v[5], v[10], v[15]) \\
        UNLEARNSPN_STIR(round, 5, v[1], v[6], v[11], v[12]) \\
        UNLEARNSPN_STIR(round, 6, v[2], v[7], v[8], v[13]) \\
        UNLEARNSPN_STIR(round, 7, v[3], v[4], v[9], v[14])

    static inline void unlearnspn_compress(
        unlearnspn_word *state, const unlearnspn_word *block, unlearnspn_word n_bytes, int is_last)
    {
        unlearnspn_word v[16];
        for (int i = 0; i < 8; i++) {
            v[i] = state[i];
            v[8 + i] = unlearnspn_roots[i];
        }
        v[12] ^= n_bytes;
        v[14] ^= is_last ? ~(unlearnspn_word)0 : 0;
        UNLEARNSPN_ROUND(0) UNLEARNSPN_ROUND(1) UNLEARNSPN_ROUND(2) UNLEARNSPN_ROUND(3)
        UNLEARNSPN_ROUND(4) UNLEARNSPN_ROUND(5) UNLEARNSPN_ROUND(6) UNLEARNSPN_ROUND(7)
        UNLEARNSPN_ROUND(8) UNLEARNSPN_ROUND(9) UNLEARNSPN_ROUND(0) UNLEARNSPN_ROUND(1)
        for (int i = 0; i < 8; i++)
            state[i] ^= v[i] ^ v[8 + i];
    }

    /* Digest words to 64 bytes, that is eight words; behind the words there must be zeros up to a multiple of 16. */
    static inline void unlearnspn_digest(const unlearnspn_word *words, long long n_words, unlearnspn_word *digest)
    {
        for (int i = 0; i < 8; i++)
            digest[i] = unlearnspn_roots[i];
        digest[0] ^= 0x01010040;
        for (long long at = 0; at < n_words; at += 16) {
            int is_last = at + 16 >= n_words;
            unlearnspn_compress(digest, words + at, 8 * (is_last ? n_words : at + 16), is_last);
        }
    }
    """
    void digest_words "unlearnspn_digest"(
        const unsigned long long* words, long long n_words, unsigned long long* digest
    ) noexcept nogil
