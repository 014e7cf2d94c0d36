from unlearnspn.statistics.g_test cimport Logs

cdef Logs tabulated_logs()
