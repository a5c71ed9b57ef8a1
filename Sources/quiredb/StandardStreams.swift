// Descriptors 0, 1 and 2, also where the tool is started without them.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The three descriptors that a process begins with.
enum StandardStreams {
  /// Opens those that are closed, so that no file of a database becomes one of them and gets messages written into it.
  ///
  /// Each is opened the wrong way round: what reads or writes it gets an error, as from the one that is missing.
  static func occupy() {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest number that is free is this one.
      if open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor { exit(1) }
    }
  }
}
