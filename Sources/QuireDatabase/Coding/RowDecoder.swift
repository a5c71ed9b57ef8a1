// Reads any `Decodable` value from the binary form. Fields are looked up where they stand: nothing is parsed ahead, and
// nothing allocated, but what the value itself is made of.

/// A decoder that is used again for every row of a context. One thread at a time.
///
/// Invariants:
/// - `depth` counts the values that are being decoded, and `path` has their steps;
/// - `head` is the innermost value's; `cursor` is where its next field is, at its end if it has none or is no record;
/// - outside of a row there are no bytes, no children in use and no indexes.
final class RowDecoder: Decoder {
  let names: FieldNames
  let watch: FieldWatch
  @exclusivity(unchecked) private(set) var reader = unsafe ValueReader(UnsafeRawBufferPointer(start: nil, count: 0))
  @exclusivity(unchecked) private(set) var head = ValueHead.absent
  @exclusivity(unchecked) var cursor = 0
  /// What the innermost value has asked for.
  @exclusivity(unchecked) var asked = AskedFields()
  /// Where it is noted what the value that is the whole row asks for; nil if nobody wants to know.
  @exclusivity(unchecked) private(set) var note: AskedNames?
  /// The step to the field that was found last.
  @exclusivity(unchecked) var lastStep = PathStep.none
  @exclusivity(unchecked) private(set) var depth = 0
  @exclusivity(unchecked) private var path: [PathStep] = []
  /// The decoder that this one is a child of, as long as it is in use, and how deep that was then.
  private var parent: RowDecoder?
  private var parentDepth = 0
  private var ancestorDepth = 0
  /// What may be used of the stack, and a larger one, once it was needed for this row.
  @exclusivity(unchecked) private var room = StackRoom.ofThread
  private var deepStack: DeepStack?
  @exclusivity(unchecked) private var children: [RowDecoder] = []
  private var spares: [RowDecoder] = []
  /// Where the fields of large records are, by the offset of the record.
  @exclusivity(unchecked) var indexes: [Int: FieldIndex] = [:]
  /// Whether damage was seen by what cannot throw.
  @exclusivity(unchecked) var hasSeenDamage = false
  @exclusivity(unchecked) private var boxes = BoxCache()

  init(_ names: FieldNames, _ watch: FieldWatch) {
    self.names = names
    self.watch = watch
  }

  var userInfo: [CodingUserInfoKey: Any] { names.anyUserInfo }

  var codingPath: [any CodingKey] { unsafe codingPath(depth) }

  /// Of those above, too; without a call inside of a call for each, as there may be little stack left.
  private func codingPath(_ depth: Int) -> [any CodingKey] {
    var (keys, decoder, depth): ([any CodingKey], RowDecoder, Int) = ([], self, depth)
    while true {
      keys = unsafe decoder.path.prefix(depth).compactMap(decoder.key) + keys
      guard let parent = decoder.parent else { return keys }
      (decoder, depth) = (parent, decoder.parentDepth)
    }
  }

  /// Whether a row is being decoded.
  var isActive: Bool { unsafe depth > 0 }

  // MARK: Rows

  /// Decodes a whole row.
  func decodeRow<Value: Decodable>(_ type: Value.Type, _ bytes: UnsafeRawBufferPointer) throws -> Value {
    guard bytes.count <= Limits.valueByteCount else { throw damage(.none) }
    unsafe (reader, room) = (ValueReader(bytes), .ofThread)
    defer { recycle() }
    guard let head = unsafe reader.rowHead() else { throw damage(.none) }
    let value = try decode(type, head, .none)
    if unsafe hasSeenDamage { throw damage(.none) }
    return value
  }

  /// Decodes a whole row, and notes which fields its type asks for.
  func decodeRow<Value: Decodable>(
    _ type: Value.Type, _ bytes: UnsafeRawBufferPointer, noting asked: AskedNames
  ) throws -> Value {
    unsafe note = asked
    defer { unsafe note = nil }
    return try unsafe decodeRow(type, bytes)
  }

  /// Decodes the value at `head` of a row, which is at `step` of it unless that is nil, and nothing else of it.
  func decodeField<Value: Decodable>(
    _ type: Value.Type, _ reader: ValueReader, _ head: ValueHead, _ step: PathStep?
  ) throws -> Value {
    unsafe (self.reader, room) = (reader, .ofThread)
    // As deep as it is where the row around it is decoded.
    ancestorDepth = step == nil ? 0 : 1
    defer {
      ancestorDepth = 0
      recycle()
    }
    let value = try decode(type, head, step ?? PathStep.none)
    if unsafe hasSeenDamage { throw damage(.none) }
    return value
  }

  /// Forgets the bytes and what was found in them.
  private func recycle() {
    unsafe reader = ValueReader(UnsafeRawBufferPointer(start: nil, count: 0))
    unsafe (head, cursor, depth, lastStep, hasSeenDamage) = (.absent, 0, 0, .none, false)
    if unsafe !indexes.isEmpty { unsafe indexes = [:] }
    if unsafe !children.isEmpty { reclaimChildren(from: 0) }
    if deepStack != nil { deepStack = nil }
  }

  // MARK: Values

  /// Lets `type` read the value at `head`, which is at `step` of the value around it.
  func decodeUnknown<Value: Decodable>(_ type: Value.Type, _ head: ValueHead, _ step: PathStep) throws -> Value {
    let isPlain =
      unsafe ancestorDepth &+ depth < Limits.codingDepth && room.isEnough
      && MemoryLayout<Value>.size <= Limits.plainValueByteCount
    return isPlain ? try decodeHere(type, head, step) : try decodeLarge(type, head, step)
  }

  /// Lets `type` read a value for which there is room.
  @inline(__always) private func decodeHere<Value: Decodable>(
    _ type: Value.Type, _ head: ValueHead, _ step: PathStep
  ) throws -> Value {
    let (outerHead, outerCursor, outerChildren) = unsafe (self.head, cursor, children.count)
    let outerAsked = unsafe asked
    enter(head, step)
    defer {
      unsafe depth &-= 1
      unsafe (self.head, cursor, asked) = (outerHead, outerCursor, outerAsked)
      if unsafe children.count > outerChildren { reclaimChildren(from: outerChildren) }
    }
    let value = try Value(from: self)
    if let note = unsafe note, unsafe depth == 1 { unsafe note.asked = asked }
    if unsafe head.kind == ValueKind.record && (cursor != head.end || asked.hasJumped) { try checkFields(type) }
    if unsafe children.count > outerChildren { try checkChildren(from: outerChildren, type) }
    return value
  }

  /// Lets `type` read a value that is deep inside others, or large, where there is room for it.
  @inline(never) private func decodeLarge<Value: Decodable>(
    _ type: Value.Type, _ head: ValueHead, _ step: PathStep
  ) throws -> Value {
    guard unsafe ancestorDepth &+ depth < Limits.codingDepth else { throw refused(.depth) }
    let outerRoom = unsafe room
    defer { unsafe room = outerRoom }
    switch StackRoom.choose(for: MemoryLayout<Value>.size) {
    case .here(let here):
      unsafe room = here
      return try decodeHere(type, head, step)
    case .larger:
      let stack = try largerStack()
      unsafe room = stack.room
      guard let value = try stack.run({ try decodeOnLargerStack(type, head, step) }) else { throw refused(.stack) }
      return value
    case .nowhere: throw refused(.stack)
    }
  }

  @inline(never) private func decodeOnLargerStack<Value: Decodable>(
    _ type: Value.Type, _ head: ValueHead, _ step: PathStep
  ) throws -> Value {
    guard unsafe room.isEnough(for: MemoryLayout<Value>.size) else { throw refused(.stack) }
    return try decodeHere(type, head, step)
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

  private func refused(_ excess: CodingExcess) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: excess.message))
  }

  @inline(__always) private func enter(_ head: ValueHead, _ step: PathStep) {
    unsafe (self.head, asked) = (head, AskedFields())
    unsafe cursor = head.kind == ValueKind.record ? head.start : head.end
    if unsafe depth < path.count { unsafe path[depth] = step } else { unsafe path.append(step) }
    unsafe depth &+= 1
  }

  // MARK: Containers

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard unsafe head.kind == ValueKind.record else { throw unsafe mismatch([String: Any].self, head, .none) }
    if let (box, table) = unsafe boxes.find(Key.self) {
      table.refresh(names)
      return unsafe unsafeBitCast(box, to: KeyedDecodingContainer<Key>.self)
    }
    let table = names.table(for: Key.self)
    table.refresh(names)
    let container = KeyedDecodingContainer(RowKeyedDecoding<Key>(decoder: self, table: table))
    unsafe boxes.keep(container, for: Key.self, table)
    return container
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard unsafe head.kind == ValueKind.list || head.kind == ValueKind.bytes else {
      throw unsafe mismatch([Any].self, head, .none)
    }
    return unsafe RowUnkeyedDecoding(decoder: self, head)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { RowSingleDecoding(decoder: self) }

  // MARK: Children

  /// A decoder for the value at `head`, usable as long as the innermost value is.
  func child(_ head: ValueHead, _ step: PathStep) throws -> RowDecoder {
    guard unsafe ancestorDepth + depth < Limits.codingDepth else { throw refused(.depth) }
    // Decoding that only goes from child to child cannot be given a larger stack.
    if unsafe room.isGone { throw refused(.stack) }
    let child = spares.popLast() ?? RowDecoder(names, watch)
    (child.parent, child.parentDepth, child.ancestorDepth) = unsafe (self, depth, ancestorDepth + depth)
    unsafe (child.reader, child.room) = (reader, room)
    child.enter(head, step)
    unsafe children.append(child)
    return child
  }

  /// Looks for fields that `type` has not asked the latest children for: nested containers, such as payloads of
  /// enumerations, and super decoders.
  private func checkChildren(from first: Int, _ type: Any.Type) throws {
    guard unsafe watch.policy != .ignore, unsafe children[first...].contains(where: { $0.mayHavePassedOver }) else {
      return
    }
    var (open, records) = unsafe (Array(children[first...]), [RowDecoder]())
    // Several may be of one record, and each was asked for some of its fields.
    var asked: [Int: AskedFields] = [:]
    while let child = open.popLast() {
      unsafe open += child.children
      guard unsafe child.head.kind == ValueKind.record else { continue }
      unsafe asked[child.head.start, default: AskedFields()].formUnion(child.asked)
      records.append(child)
    }
    for child in records {
      guard let all = unsafe asked.removeValue(forKey: child.head.start) else { continue }
      unsafe child.asked = all
      try child.checkFields(type)
    }
  }

  /// Whether there may be fields of the innermost value, or of a child, that nobody has asked for.
  private var mayHavePassedOver: Bool {
    unsafe !children.isEmpty || head.kind == ValueKind.record && (cursor != head.end || asked.hasJumped)
  }

  /// Takes the bytes from children, and keeps for later those that nobody else has kept.
  private func reclaimChildren(from first: Int) {
    // From child to child, which may go deep. There is the reserve, if there is nothing else.
    if case .larger = StackRoom.choose(for: 0), let stack = try? largerStack(),
      (try? stack.run { reclaimChildrenHere(from: first) }) != nil
    {
      return
    }
    reclaimChildrenHere(from: first)
  }

  private func reclaimChildrenHere(from first: Int) {
    while unsafe children.count > first {
      var child = unsafe children.removeLast()
      if unsafe child.hasSeenDamage { unsafe hasSeenDamage = true }
      child.recycle()
      child.parent = nil
      if isKnownUniquelyReferenced(&child), spares.count < 8 { spares.append(child) } else { child.close() }
    }
  }

  // MARK: Errors

  private func key(_ step: PathStep) -> (any CodingKey)? {
    step.key(names) { offset in unsafe reader.head(at: offset, limit: reader.bytes.count).flatMap(reader.text) }
  }

  private func path(to step: PathStep) -> [any CodingKey] { codingPath + (key(step).map { [$0] } ?? []) }

  /// The error for bytes that are not the binary form.
  func damage(_ step: PathStep) -> DecodingError {
    let message = "The stored bytes are not a value as this coder writes it. Verify the database."
    return .dataCorrupted(.init(codingPath: path(to: step), debugDescription: message))
  }

  /// The error for a value at `head` that is no `type`, or none that `type` can hold.
  func mismatch(_ type: Any.Type, _ head: ValueHead, _ step: PathStep) -> DecodingError {
    let path = path(to: step)
    if head.isAbsent {
      return .valueNotFound(type, .init(codingPath: path, debugDescription: "Found nil instead of \(type)."))
    }
    if head.kind == ValueKind.text, type == String.self {
      return .dataCorrupted(.init(codingPath: path, debugDescription: "The text is not UTF-8. Verify the database."))
    }
    let isNumber = head.kind <= ValueKind.negative || (head.kind == ValueKind.simple && head.argument > SimpleValue.yes)
    if isNumber, type is any Numeric.Type {
      let message = "Found \(head.name) that \(type) cannot hold exactly."
      return .typeMismatch(type, .init(codingPath: path, debugDescription: message))
    }
    return .typeMismatch(type, .init(codingPath: path, debugDescription: "Found \(head.name) instead of \(type)."))
  }

  /// The error for a field that is not there.
  func missing(_ key: some CodingKey) -> DecodingError {
    let message = "There is no field «\(key.stringValue)»."
    return .keyNotFound(key, .init(codingPath: codingPath, debugDescription: message))
  }

  /// The error for an element after the last.
  func endOfList(_ type: Any.Type, _ index: Int) -> DecodingError {
    let message = "The list has only \(index) elements."
    return .valueNotFound(type, .init(codingPath: path(to: .element(index)), debugDescription: message))
  }

  // MARK: End

  /// Called by the owner before it lets go: a coder that has kept a container of this decoder keeps the decoder, too.
  func close() {
    for child in spares { child.close() }
    spares = []
    // The containers refer to the decoder without owning it. If one has been kept, against the rules, then it is better
    // to lose this memory than to read another's.
    if unsafe boxes.isShared() { _ = unsafe Unmanaged.passRetained(self) }
  }

  /// Checks the invariants, in their order.
  func checkInvariants() {
    unsafe precondition(depth >= 0 && depth <= path.count)
    unsafe precondition(cursor >= 0 && cursor <= max(head.end, 0))
    unsafe precondition(isActive || (reader.bytes.count == 0 && children.isEmpty && indexes.isEmpty))
  }
}
