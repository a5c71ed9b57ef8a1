// Values that blocks have made of bytes, kept for the next time that the same bytes are read.

internal import Quire

/// Stands for the blocks of a collection, which cannot be compared.
final class ValueMaker: Sendable {}

/// Decoded objects, or metadata, of rows whose collections have serializer blocks.
///
/// A value is found for the bytes that it was made of, of the same row and by the same blocks: so it is right in every
/// snapshot, and nothing has to be taken away when rows change. Looking one up costs a comparison of bytes. The least
/// recently used one goes first. May be used from any thread.
final class DecodedValues: @unchecked Sendable {
  // Sendable: safe because all is touched under the lock only. Values are made by an app's blocks, and handed to
  // whoever uses the connection, as in the original. What goes, goes outside of the lock: an app's object may do
  // anything then.

  /// Whose value it is.
  struct Place: Hashable {
    let collection: ByteName
    let key: ByteName
    /// Stands for the blocks that have made it: another one where others were registered since. Kept, so that its
    /// address is nobody else's.
    let maker: ValueMaker

    static func == (left: Self, right: Self) -> Bool {
      left.maker === right.maker && left.key == right.key && left.collection == right.collection
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(collection)
      hasher.combine(key)
    }
  }

  /// A value in the list of all, in which the most recently used one is first.
  fileprivate final class Entry {
    let place: Place
    var bytes: [UInt8]
    var value: Any
    var next: Entry?
    unowned(unsafe) var previous: Entry?

    init(_ place: Place, _ bytes: [UInt8], _ value: Any) {
      (self.place, self.bytes, self.value) = (place, bytes, value)
    }
  }

  /// Invariant: the list from `first` to `last` has each of `entries` once, which are no more than `limit`.
  fileprivate struct State {
    var entries: [Place: Entry] = [:]
    var first: Entry?
    var last: Entry?
    /// The most values that are kept; nil for any number.
    var limit: Int?
  }

  private let state: Guarded<State>

  /// Keeps so many values; nil for any number, 0 for none.
  init(limit: Int?) { state = Guarded(State(limit: limit)) }

  deinit { removeAll() }

  /// How many values are kept.
  var count: Int { state.withLock { $0.entries.count } }

  /// The most values that are kept; what is beyond goes at once.
  func setLimit(_ limit: Int?) {
    let gone = state.withLock { state in
      state.limit = limit
      return state.trimmed()
    }
    withExtendedLifetime(gone) {}
  }

  /// The value of these bytes; nil if it is not there.
  func value(_ place: Place, _ bytes: [UInt8]) -> Any? {
    state.withLock { state in
      guard let entry = state.entries[place], entry.bytes == bytes else { return nil }
      state.moveToFront(entry)
      return entry.value
    }
  }

  /// Keeps a value; those that were not used for longest go for it, unless `takesFreeRoomOnly` is set.
  func keep(_ value: Any, _ place: Place, _ bytes: [UInt8], takesFreeRoomOnly: Bool) {
    let gone = state.withLock { state -> [Any] in
      if let entry = state.entries[place] {
        let old = entry.value
        (entry.bytes, entry.value) = (bytes, value)
        state.moveToFront(entry)
        return [old]
      }
      if let limit = state.limit, takesFreeRoomOnly ? state.entries.count >= limit : limit == 0 { return [] }
      let entry = Entry(place, bytes, value)
      state.entries[place] = entry
      state.pushFront(entry)
      return state.trimmed()
    }
    withExtendedLifetime(gone) {}
  }

  /// Lets go of all values.
  func removeAll() {
    let gone = state.withLock { $0.emptied() }
    withExtendedLifetime(gone) {}
  }
}

extension DecodedValues.State {
  fileprivate mutating func pushFront(_ entry: DecodedValues.Entry) {
    assert(unsafe entry.next == nil && entry.previous == nil && first !== entry, "an entry is in the list twice")
    entry.next = first
    unsafe first?.previous = entry
    first = entry
    if last == nil { last = entry }
  }

  private mutating func takeOut(_ entry: DecodedValues.Entry) {
    let (previous, next) = unsafe (entry.previous, entry.next)
    assert((previous == nil) == (first === entry) && (next == nil) == (last === entry), "an entry is in another list")
    if let previous { previous.next = next } else { first = next }
    if let next { unsafe next.previous = previous } else { last = previous }
    unsafe entry.previous = nil
    entry.next = nil
  }

  fileprivate mutating func moveToFront(_ entry: DecodedValues.Entry) {
    if first === entry { return }
    takeOut(entry)
    pushFront(entry)
  }

  /// Takes out what is beyond the limit, and returns its values.
  fileprivate mutating func trimmed() -> [Any] {
    guard let limit else { return [] }
    var gone: [Any] = []
    while entries.count > limit, let entry = last {
      entries[entry.place] = nil
      takeOut(entry)
      gone.append(entry.value)
    }
    assert(entries.count <= limit, "an entry is in no list")
    assert(entries.isEmpty == (first == nil) && entries.isEmpty == (last == nil), "the list ends before its end")
    return gone
  }

  /// Takes out everything, and returns the values.
  fileprivate mutating func emptied() -> [Any] {
    let gone = entries.values.map(\.value)
    entries.removeAll()
    last = nil
    // One by one: a list that goes as a whole goes down once for each entry.
    var count = 0
    while let entry = first {
      first = entry.next.take()
      count += 1
    }
    assert(count == gone.count, "the list has other entries than the table")
    return gone
  }
}
