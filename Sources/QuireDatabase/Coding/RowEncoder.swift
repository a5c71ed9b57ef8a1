// Writes any `Encodable` value in the binary form: one pass, one buffer, nothing allocated per row.
//
// A value that is encoded through a container is written where it belongs, and complete before the container's owner
// goes on. Only what `nestedContainer` and `superEncoder` return may be written to at any later time: each of these is
// a child encoder with a buffer of its own, whose bytes are put in their place when the value around them ends.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// An encoder that is used again for every row of a context. One thread at a time.
///
/// Invariants:
/// - `depth` counts the values that are being encoded, and `path` has their steps;
/// - `pending` is in order of offset, and offsets are within the buffer;
/// - `containers` are among `pending`;
/// - `shape` and `start` belong to the innermost value.
final class RowEncoder: Encoder {
  /// What the innermost value has turned out to be.
  enum Shape { case undecided, value, record, list, openRecord, openList, contradictory }

  let names: FieldNames
  @exclusivity(unchecked) var buffer: RowBuffer
  @exclusivity(unchecked) private(set) var shape = Shape.undecided
  @exclusivity(unchecked) private(set) var start = 0
  @exclusivity(unchecked) var depth = 0
  /// What the innermost record has in the way of keys.
  @exclusivity(unchecked) private var keys = WrittenKeys()
  /// The steps of the values around; as long as the deepest that there has been.
  @exclusivity(unchecked) var path: [PathStep] = []
  /// The encoder that this one is a child of, as long as it is in use, and how deep that was then.
  var parent: RowEncoder?
  var parentDepth = 0
  var ancestorDepth = 0
  /// What may be used of the stack, and a larger one, once it was needed for this row.
  @exclusivity(unchecked) var room = StackRoom.ofThread
  private var deepStack: DeepStack?
  /// How many bytes the large ones of the values have which are being encoded.
  @exclusivity(unchecked) var largeByteCount = 0
  /// What was wrong with a child that was asked for, where nothing can be thrown.
  @exclusivity(unchecked) var excess: CodingExcess?
  private let isChild: Bool
  /// The container that this child stands for; nil for one that stands for a value of its own.
  var containerPlace: ContainerPlace?
  /// Children in use, with the offset at which their bytes belong.
  @exclusivity(unchecked) var pending: [(offset: Int, child: RowEncoder)] = []
  /// Those that stand for containers by their places, once there are many children; empty before that.
  var containers: [ContainerPlace: RowEncoder] = [:]
  var spares: [RowEncoder] = []
  @exclusivity(unchecked) private var boxes = BoxCache()

  /// How much memory stays allocated between rows.
  private static let keptByteCount = 1 << 16

  init(_ names: FieldNames, isChild: Bool = false) {
    self.names = names
    self.isChild = isChild
    unsafe buffer = RowBuffer(capacity: isChild ? 64 : 512)
  }

  var userInfo: [CodingUserInfoKey: Any] { names.anyUserInfo }

  var codingPath: [any CodingKey] {
    unsafe codingPath(depth)
  }

  /// Of those above, too; without a call inside of a call for each, as there may be little stack left.
  private func codingPath(_ depth: Int) -> [any CodingKey] {
    var (keys, encoder, depth): ([any CodingKey], RowEncoder, Int) = ([], self, depth)
    while true {
      let own = unsafe encoder.path.prefix(depth).compactMap { $0.key(names, encoder.textWritten(at:)) }
      keys = own + keys
      guard let parent = encoder.parent else { return keys }
      (encoder, depth) = (parent, encoder.parentDepth)
    }
  }

  /// Whether a row is being encoded.
  var isActive: Bool { unsafe depth > 0 }

  // MARK: Rows

  /// Encodes `value` as a whole row, and calls `body` with its bytes.
  func encodeRow<Value: Encodable>(_ value: Value, _ body: (UnsafeRawBufferPointer) -> Void) throws {
    unsafe room = .ofThread
    defer { recycle() }
    try encode(value, .none)
    guard unsafe buffer.count <= Limits.valueByteCount else {
      let message = unsafe "The value has \(buffer.count) bytes; at most \(Limits.valueByteCount) can be stored."
      throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: message))
    }
    unsafe body(buffer.bytes)
  }

  /// Makes ready for the next row, whatever has become of this one.
  func recycle() {
    unsafe buffer.removeAll(keeping: Self.keptByteCount)
    unsafe (shape, start, depth, excess) = (.undecided, 0, 0, nil)
    unsafe keys = WrittenKeys()
    dropPending(from: 0)
    if deepStack != nil { deepStack = nil }
  }

  // MARK: Values

  /// Writes `value`, which is at `step` of the value around it. On an error, what it has written is the caller's to
  /// drop.
  func encode<Value: Encodable>(_ value: Value, _ step: PathStep) throws {
    if writeKnown(value) { return }
    let isPlain =
      unsafe ancestorDepth &+ depth < Limits.codingDepth && room.isEnough
      && MemoryLayout<Value>.size <= Limits.plainValueByteCount
    if isPlain { try encodeHere(value, step) } else { try encodeLarge(value, step) }
  }

  /// Writes `value`, for which there is room.
  @inline(__always) private func encodeHere<Value: Encodable>(_ value: Value, _ step: PathStep) throws {
    let (outerShape, outerStart, outerPending) = unsafe (shape, start, pending.count)
    let outerKeys = unsafe keys
    unsafe (shape, start, keys) = (.undecided, buffer.count, WrittenKeys())
    if unsafe depth < path.count { unsafe path[depth] = step } else { unsafe path.append(step) }
    unsafe depth &+= 1
    defer {
      unsafe depth &-= 1
      unsafe (shape, start, keys) = (outerShape, outerStart, outerKeys)
    }
    do {
      try value.encode(to: self)
      try close(pendingFrom: outerPending)
    } catch {
      dropPending(from: outerPending)
      throw error
    }
  }

  /// Writes a value that is deep inside others, or large, where there is room for it.
  @inline(never) private func encodeLarge<Value: Encodable>(_ value: Value, _ step: PathStep) throws {
    guard unsafe ancestorDepth &+ depth < Limits.codingDepth else { throw refused(Value.self, .depth) }
    let byteCount = MemoryLayout<Value>.size
    let (outerRoom, outerByteCount) = unsafe (room, largeByteCount)
    defer { unsafe (room, largeByteCount) = (outerRoom, outerByteCount) }
    if byteCount > Limits.plainValueByteCount { unsafe largeByteCount &+= byteCount }
    guard unsafe largeByteCount <= Limits.nestedByteCount else { throw refused(Value.self, .size) }
    switch StackRoom.choose(for: byteCount) {
    case .here(let here):
      unsafe room = here
      try encodeHere(value, step)
    case .larger:
      let stack = try largerStack()
      unsafe room = stack.room
      guard try stack.run({ try encodeOnLargerStack(value, step) }) != nil else { throw refused(Value.self, .stack) }
    case .nowhere: throw refused(Value.self, .stack)
    }
  }

  @inline(never) private func encodeOnLargerStack<Value: Encodable>(_ value: Value, _ step: PathStep) throws {
    guard unsafe room.isEnough(for: MemoryLayout<Value>.size) else { throw refused(Value.self, .stack) }
    try encodeHere(value, step)
  }

  /// Runs `body`, which goes from child to child, where there is room for that.
  func withRoom(_ body: () throws -> Void) throws {
    switch StackRoom.choose(for: 0) {
    case .here: try body()
    case .larger: guard try largerStack().run(body) != nil else { throw refused(Any.self, .stack) }
    case .nowhere: throw refused(Any.self, .stack)
    }
  }

  /// The larger stack for this row, one for all children.
  private func largerStack() throws -> DeepStack {
    var root = self
    while let parent = root.parent { root = parent }
    if let stack = root.deepStack { return stack }
    let stack = try DeepStack()
    root.deepStack = stack
    return stack
  }

  /// The error has the type, not the value, which is one to describe or compare with care.
  private func refused(_ type: Any.Type, _ excess: CodingExcess) -> EncodingError {
    .invalidValue(type, .init(codingPath: codingPath, debugDescription: excess.message))
  }

  /// Completes the innermost value.
  @inline(__always) func close(pendingFrom first: Int) throws {
    if let excess = unsafe excess { throw refused(Any.self, excess) }
    if unsafe pending.count > first { try insertPending(from: first) }
    if unsafe keys.mayRepeat { try removeRepeated() }
    switch unsafe shape {
    case .record, .list: unsafe buffer.closeHead(at: start)
    case .value, .openRecord, .openList: break
    case .undecided: unsafe buffer.appendHead(ValueKind.record, 0)
    case .contradictory:
      let message = "The value is encoded as more than one of a keyed, an unkeyed and a single-value container."
      throw EncodingError.invalidValue(Any.self, .init(codingPath: codingPath, debugDescription: message))
    }
  }

  /// Decides what the innermost value is; asking for the same container again is fine, as a subclass does it.
  @inline(__always) func decide(_ wanted: Shape) {
    guard unsafe shape == .undecided else { return redecide(wanted) }
    // The outermost value of a row ends where the row ends, so its length need not be written.
    let isRow = unsafe start == 0 && !isChild
    switch wanted {
    case .record where isRow:
      unsafe shape = .openRecord
      unsafe buffer.append(ValueKind.open << 5 | OpenValue.record)
    case .list where isRow:
      unsafe shape = .openList
      unsafe buffer.append(ValueKind.open << 5 | OpenValue.list)
    default:
      unsafe shape = wanted
      unsafe buffer.appendOpenHead(wanted == .record ? ValueKind.record : ValueKind.list)
    }
  }

  private func redecide(_ wanted: Shape) {
    switch unsafe (shape, wanted) {
    case (.record, .record), (.openRecord, .record), (.list, .list), (.openList, .list): break
    default: unsafe shape = .contradictory
    }
  }

  /// Notes that the innermost value is a single one, about to be written.
  @inline(__always) func decideSingle() { unsafe shape = shape == .undecided ? .value : .contradictory }

  /// Takes that back, as nothing was written.
  func forgetSingle() { if unsafe shape == .value { unsafe shape = .undecided } }

  // MARK: Containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    decide(.record)
    if let (box, table) = unsafe boxes.find(Key.self) {
      table.refresh(names)
      return unsafe unsafeBitCast(box, to: KeyedEncodingContainer<Key>.self)
    }
    let table = names.table(for: Key.self)
    table.refresh(names)
    let container = KeyedEncodingContainer(RowKeyedEncoding<Key>(encoder: self, table: table))
    unsafe boxes.keep(container, for: Key.self, table)
    return container
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    decide(.list)
    return RowUnkeyedEncoding(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { RowSingleEncoding(encoder: self) }

  // MARK: Names

  /// Writes the key of a field whose number is not in its table, or not small. Returns its step.
  @inline(never) func writeSlowKey<Key: CodingKey>(_ key: Key, _ table: KeyTable) -> PathStep {
    var number = table.entry(key)
    if number == KeyTable.unknown || number == KeyTable.absent { number = table.register(key, names) }
    if number == 0 {
      if !table.hasUniqueKeys { unsafe keys.noteOther() }
      return writeInlineKey(key.stringValue)
    }
    noteKey(number)
    unsafe buffer.appendVarint(number)
    return .field(number)
  }

  /// Writes the key that `superEncoder()` stands for. Returns its step.
  func writeSuperKey() -> PathStep { writeKey(PathKey.superclass.stringValue, isNoted: true) }

  /// Writes the number of a name, or the name where it has none; `isNoted` if it is to get one. Returns its step.
  func writeKey(_ name: String, isNoted: Bool) -> PathStep {
    // Another spelling of a noted name, which `String` takes for the same, is another name.
    guard let number = isNoted ? names.register(name) : names.number(of: name),
      names.name(number)?.hasSameBytes(as: name) == true
    else {
      unsafe keys.noteOther()
      return writeInlineKey(name)
    }
    noteKey(number)
    unsafe buffer.appendVarint(number)
    return .field(number)
  }

  /// Notes that a key is written to the innermost record.
  @inline(__always) func noteKey(_ number: UInt32) { unsafe keys.note(number) }

  private func writeInlineKey(_ name: String) -> PathStep {
    unsafe buffer.append(0)
    let offset = unsafe buffer.count
    write(name)
    return .inline(offset)
  }

  /// The text whose head is at `offset`: a key that has been written out.
  private func textWritten(at offset: Int) -> String? {
    let reader = unsafe ValueReader(buffer.bytes)
    return unsafe reader.head(at: offset, limit: reader.bytes.count).flatMap(reader.text)
  }

  // MARK: End

  /// Called by the owner before it lets go: a coder that has kept a container of this encoder keeps the encoder, too.
  func close() {
    for child in spares { child.close() }
    spares = []
    // The containers refer to the encoder without owning it. If one has been kept, against the rules, then it is better
    // to lose this memory than to write into another's.
    if unsafe boxes.isShared() { _ = unsafe Unmanaged.passRetained(self) }
  }

  /// Checks the invariants, in their order.
  func checkInvariants() {
    unsafe precondition(depth >= 0 && depth <= path.count)
    unsafe precondition(zip(pending, pending.dropFirst()).allSatisfy { $0.offset <= $1.offset })
    unsafe precondition(pending.allSatisfy { unsafe $0.offset <= buffer.count })
    let children = unsafe Set(pending.map { ObjectIdentifier($0.child) })
    precondition(containers.values.allSatisfy { children.contains(ObjectIdentifier($0)) })
    unsafe precondition(isActive || (shape == .undecided && start == 0))
  }
}
