// Keyed containers that have been made, because making one allocates.

/// A container that a coder has made for the keys of one type, and what is remembered about these keys.
private final class BoxEntry {
  /// The only reference that the coder has: so it can be told whether somebody else has one.
  @exclusivity(unchecked) var box: AnyObject
  let table: KeyTable

  init(_ box: AnyObject, _ table: KeyTable) {
    unsafe self.box = box
    self.table = table
  }
}

/// Containers of one coder by the type of their keys.
///
/// A `KeyedEncodingContainer` and its decoding counterpart are one reference to a box, whose content here is stateless:
/// so one container serves all values with these keys. A test guards that layout.
///
/// Invariants: every slot that is filled has an entry of `entries`, under the same type.
struct BoxCache {
  @safe private struct Slot {
    var key: ObjectIdentifier?
    var entry: Unmanaged<BoxEntry>?
  }

  private var entries: [ObjectIdentifier: BoxEntry] = [:]
  /// The entries that were used last, found without hashing; types that fall into one slot take turns.
  private var slots = [Slot](repeating: Slot(), count: Self.slotCount)
  private static let slotCount = 16

  @inline(__always) private static func index(_ key: ObjectIdentifier) -> Int {
    // The lowest bits of an address say nothing.
    let bits = UInt(bitPattern: key)
    return Int(bitPattern: (bits &>> 4 ^ bits &>> 9) & UInt(slotCount - 1))
  }

  /// The container for keys of type `Key`, and what is remembered about the keys.
  @inline(__always) mutating func find<Key>(_ type: Key.Type) -> (box: AnyObject, table: KeyTable)? {
    let key = ObjectIdentifier(type)
    let index = Self.index(key)
    let slot = slots[index]
    if slot.key == key, let entry = unsafe slot.entry {
      return unsafe entry._withUnsafeGuaranteedRef { unsafe ($0.box, $0.table) }
    }
    return findElsewhere(key, index)
  }

  private mutating func findElsewhere(_ key: ObjectIdentifier, _ index: Int) -> (box: AnyObject, table: KeyTable)? {
    guard let entry = entries[key] else { return nil }
    slots[index] = unsafe Slot(key: key, entry: .passUnretained(entry))
    return unsafe (entry.box, entry.table)
  }

  /// Keeps `container`, which must be one reference, for keys of type `Key`, for which none is kept yet.
  mutating func keep<Container, Key>(_ container: Container, for type: Key.Type, _ table: KeyTable) {
    precondition(MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size)
    let key = ObjectIdentifier(type)
    assert(entries[key] == nil, "a container is kept already for these keys")
    let entry = unsafe BoxEntry(unsafeBitCast(container, to: AnyObject.self), table)
    entries[key] = entry
    slots[Self.index(key)] = unsafe Slot(key: key, entry: .passUnretained(entry))
  }

  /// Whether anybody else still has one of the containers.
  func isShared() -> Bool { entries.values.contains { unsafe !isKnownUniquelyReferenced(&$0.box) } }
}
