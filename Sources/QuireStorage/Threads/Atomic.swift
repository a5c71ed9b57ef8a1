// Atomic words. They are the standard library's; in debug builds each use of one is a step of a schedule.

#if DEBUG
  internal import Synchronization

  /// What an atomic word can hold.
  protocol AtomicWord: Sendable {
    init(atomicBits: UInt64)
    var atomicBits: UInt64 { get }
  }

  extension AtomicWord where Self: FixedWidthInteger {
    init(atomicBits: UInt64) { self.init(truncatingIfNeeded: atomicBits) }
    var atomicBits: UInt64 { UInt64(truncatingIfNeeded: self) }
  }

  extension Int: AtomicWord {}
  extension Int32: AtomicWord {}
  extension UInt: AtomicWord {}
  extension UInt64: AtomicWord {}
  extension Bool: AtomicWord {
    init(atomicBits: UInt64) { self = atomicBits != 0 }
    var atomicBits: UInt64 { self ? 1 : 0 }
  }

  /// A word that several threads read and write at once.
  ///
  /// Debug builds let a schedule go on with another thread before each use. The word is the only thing stored, so that
  /// one can stand in memory of our own as in a release.
  struct Atomic<Value: AtomicWord>: ~Copyable, Sendable {
    private let word: Synchronization.Atomic<UInt64>

    init(_ value: Value) { word = Synchronization.Atomic(value.atomicBits) }

    func load(ordering: AtomicLoadOrdering) -> Value {
      ThreadSeam.step()
      // The orderings must be constants where the operation is.
      if ordering == .relaxed { return Value(atomicBits: word.load(ordering: .relaxed)) }
      if ordering == .acquiring { return Value(atomicBits: word.load(ordering: .acquiring)) }
      return Value(atomicBits: word.load(ordering: .sequentiallyConsistent))
    }

    func store(_ value: Value, ordering: AtomicStoreOrdering) {
      ThreadSeam.step()
      if ordering == .relaxed { return word.store(value.atomicBits, ordering: .relaxed) }
      if ordering == .releasing { return word.store(value.atomicBits, ordering: .releasing) }
      word.store(value.atomicBits, ordering: .sequentiallyConsistent)
    }

    func exchange(_ value: Value, ordering: AtomicUpdateOrdering) -> Value {
      ThreadSeam.step()
      return Value(atomicBits: Self.exchange(word, value.atomicBits, ordering))
    }

    func compareExchange(
      expected: Value, desired: Value, ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: Value) {
      ThreadSeam.step()
      let (isDone, found) = Self.compareExchange(word, expected.atomicBits, desired.atomicBits, ordering)
      return (isDone, Value(atomicBits: found))
    }

    private static func exchange(
      _ word: borrowing Synchronization.Atomic<UInt64>, _ value: UInt64, _ ordering: AtomicUpdateOrdering
    ) -> UInt64 {
      if ordering == .relaxed { return word.exchange(value, ordering: .relaxed) }
      if ordering == .acquiring { return word.exchange(value, ordering: .acquiring) }
      if ordering == .releasing { return word.exchange(value, ordering: .releasing) }
      if ordering == .acquiringAndReleasing { return word.exchange(value, ordering: .acquiringAndReleasing) }
      return word.exchange(value, ordering: .sequentiallyConsistent)
    }

    private static func compareExchange(
      _ word: borrowing Synchronization.Atomic<UInt64>, _ old: UInt64, _ new: UInt64, _ ordering: AtomicUpdateOrdering
    ) -> (exchanged: Bool, original: UInt64) {
      if ordering == .relaxed { return word.compareExchange(expected: old, desired: new, ordering: .relaxed) }
      if ordering == .acquiring { return word.compareExchange(expected: old, desired: new, ordering: .acquiring) }
      if ordering == .releasing { return word.compareExchange(expected: old, desired: new, ordering: .releasing) }
      if ordering == .acquiringAndReleasing {
        return word.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
      }
      return word.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent)
    }
  }

  extension Atomic where Value: FixedWidthInteger {
    typealias Change = (oldValue: Value, newValue: Value)

    /// One step, in which nobody else comes between.
    private func change(_ ordering: AtomicUpdateOrdering, _ next: (Value) -> Value) -> Change {
      ThreadSeam.step()
      var old = word.load(ordering: .relaxed)
      while true {
        let new = next(Value(atomicBits: old))
        let (isDone, found) = Self.compareExchange(word, old, new.atomicBits, ordering)
        if isDone { return (Value(atomicBits: old), new) }
        old = found
      }
    }

    @discardableResult
    func wrappingAdd(_ operand: Value, ordering: AtomicUpdateOrdering) -> Change { change(ordering) { $0 &+ operand } }

    @discardableResult
    func wrappingSubtract(_ operand: Value, ordering: AtomicUpdateOrdering) -> Change {
      change(ordering) { $0 &- operand }
    }

    @discardableResult
    func add(_ operand: Value, ordering: AtomicUpdateOrdering) -> Change { change(ordering) { $0 + operand } }

    @discardableResult
    func subtract(_ operand: Value, ordering: AtomicUpdateOrdering) -> Change { change(ordering) { $0 - operand } }

    @discardableResult
    func bitwiseOr(_ operand: Value, ordering: AtomicUpdateOrdering) -> Change { change(ordering) { $0 | operand } }

    @discardableResult
    func max(_ operand: Value, ordering: AtomicUpdateOrdering) -> Change {
      change(ordering) { Swift.max($0, operand) }
    }
  }
#else
  internal import Synchronization

  /// A word that several threads read and write at once.
  typealias Atomic = Synchronization.Atomic
#endif
