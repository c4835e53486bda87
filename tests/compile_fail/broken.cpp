// Not even the right part compiles: the test must say so instead of taking the failure for the expected one.
int right = nothing_of_this_name;
#ifdef WRONG
int wrong = nothing_of_this_name;
#endif
