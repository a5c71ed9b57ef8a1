// Where the engine calls code that is not its own: a check that no latch is held there.

#if DEBUG
  #if canImport(Darwin)
    internal import Darwin
  #else
    internal import Glibc
  #endif

  /// How many latches each thread holds.
  package enum CallOut {
    // The key is made once and never given up; each thread's word behind it counts, and is no address.
    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      precondition(pthread_key_create(&key, nil) == 0, "the system gave no key for a word of each thread's own")
      return key
    }()

    private static var count: Int {
      get { Int(bitPattern: pthread_getspecific(key)) }
      set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue)) }
    }

    static func didTakeLatch() { count += 1 }
    static func willGiveUpLatch() { count -= 1 }

    /// Called before every call of a closure that an app has handed over, or of anything that leads to one. Under a
    /// latch the app's code would wait for itself as soon as it asks the engine for something, and others for it.
    package static func check(_ file: StaticString = #fileID, _ line: UInt = #line) {
      precondition(count == 0, "\(file):\(line) calls code of the app's while it holds \(count) latches")
    }
  }
#else
  /// Looks, in debug builds, whether code of the app's is called under a latch.
  package enum CallOut {
    /// Does nothing.
    @inline(__always) package static func check() {}
  }
#endif
