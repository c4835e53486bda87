// Linked into the programs of sanitizer builds. Open MPI, PMIx and UCX close their plugins in MPI_Finalize, before leaks are looked for:
// frames in them then read "<unknown module>", and no suppression matches. Plugins that stay mapped keep their names.
extern "C" int dlclose(void* /*handle*/) {
  return 0;
}
