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
  // whoever uses the connection, as in the original.

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
    state.withLock { state in
      state.limit = limit
      state.trim()
    }
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
    state.withLock { state in
      if let entry = state.entries[place] {
        (entry.bytes, entry.value) = (bytes, value)
        return state.moveToFront(entry)
      }
      if let limit = state.limit, takesFreeRoomOnly ? state.entries.count >= limit : limit == 0 { return }
      let entry = Entry(place, bytes, value)
      state.entries[place] = entry
      state.pushFront(entry)
      state.trim()
    }
  }

  /// Lets go of all values.
  func removeAll() { state.withLock { $0.removeAll() } }
}

extension DecodedValues.State {
  fileprivate mutating func pushFront(_ entry: DecodedValues.Entry) {
    entry.next = first
    unsafe first?.previous = entry
    first = entry
    if last == nil { last = entry }
  }

  private mutating func takeOut(_ entry: DecodedValues.Entry) {
    let (previous, next) = unsafe (entry.previous, entry.next)
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

  fileprivate mutating func trim() {
    guard let limit else { return }
    while entries.count > limit, let entry = last {
      entries[entry.place] = nil
      takeOut(entry)
    }
  }

  fileprivate mutating func removeAll() {
    entries.removeAll()
    last = nil
    // One by one: a list that goes as a whole goes down once for each entry.
    while let entry = first { first = entry.next.take() }
  }
}
