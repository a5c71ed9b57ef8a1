// Where the engine calls code that is not its own: a check that no latch is held there.

#if DEBUG
  /// How many latches each thread holds.
  package enum CallOut {
    /// Counts, and is no address.
    private static let word = ThreadWord()

    private static var count: Int {
      get { Int(bitPattern: word.value) }
      set { word.value = UnsafeMutableRawPointer(bitPattern: newValue) }
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
