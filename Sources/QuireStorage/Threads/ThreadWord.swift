// A word that each thread has of its own. Debug builds alone have it.

#if DEBUG
  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif

  /// A word of each thread's own, nil at first. It is made once, at its first use, and never given up.
  struct ThreadWord {
    private let key: pthread_key_t

    init() {
      var key = pthread_key_t()
      precondition(pthread_key_create(&key, nil) == 0, "the system gave no key for a word of each thread's own")
      self.key = key
    }

    /// The calling thread's.
    var value: UnsafeMutableRawPointer? {
      get { pthread_getspecific(key) }
      nonmutating set { pthread_setspecific(key, newValue) }
    }
  }
#endif
