// Its one case is not wrong at all: the test must say so.
int right = 1;
#ifdef HARMLESS
int wrong = 2;
#endif
