def correlated(*a):
    raise NotImplementedError
