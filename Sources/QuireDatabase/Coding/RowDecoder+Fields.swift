// Finding the fields of a record that are not simply the next ones.

/// A field of a record.
private struct Field {
  /// The number of its name in the schema; 0 if the name is spelled out, and where.
  var number: UInt32
  var name: ValueHead
  var nameOffset: Int
  var value: ValueHead

  /// The step to it.
  var step: PathStep { number == 0 ? .inline(nameOffset) : .field(number) }
}

/// Where the fields of a large record are; of fields with one key the first.
final class FieldIndex {
  fileprivate var numbered: [UInt32: Field] = [:]
  fileprivate var named: [String: Field] = [:]
}

/// A field that is looked for: by its number, or where names are spelled out, by name; both are found out on demand.
private struct WantedField<Key: CodingKey> {
  let key: Key
  private var knownNumber: UInt32??
  private var knownName: String?

  init(_ key: Key, number: UInt32??) {
    self.key = key
    knownNumber = number
  }

  var name: String {
    mutating get {
      if let knownName { return knownName }
      let name = key.stringValue
      knownName = name
      return name
    }
  }

  /// The number in the schema; nil if it is not there.
  mutating func number(_ names: FieldNames) -> UInt32? {
    if let knownNumber { return knownNumber }
    let number = names.number(of: name)
    knownNumber = .some(number)
    return number
  }
}

extension RowDecoder {
  /// The byte that the next field begins with; 0, as for a field whose name is spelled out, if there is none.
  @inline(__always) var nextByte: UInt8 {
    unsafe cursor < head.end && head.end <= reader.bytes.count ? reader.bytes[cursor] : 0
  }

  /// The value of the next field, whose number is the one byte `number`.
  @inline(__always) func takeNext(_ number: UInt32) throws -> ValueHead {
    unsafe lastStep = .field(number)
    guard let value = unsafe reader.head(at: cursor &+ 1, limit: head.end) else { throw unsafe damage(lastStep) }
    unsafe asked.note(number)
    unsafe cursor = value.end
    return value
  }

  /// The value of the field `key` of the innermost value, or nil if there is none. Fields are mostly asked for in the
  /// order in which they were written.
  @inline(__always) func find<Key: CodingKey>(_ key: borrowing Key, _ table: KeyTable) throws -> ValueHead? {
    let number = table.entry(key)
    if number &- 1 < 127, nextByte == UInt8(truncatingIfNeeded: number) { return try takeNext(number) }
    return try findField(copy key, table)
  }

  /// The value of the field `key`, which must be there.
  @inline(__always) func require<Key: CodingKey>(_ key: borrowing Key, _ table: KeyTable) throws -> ValueHead {
    guard let head = try find(key, table) else { throw missing(copy key) }
    return head
  }

  /// The value of the field `key`, unless it is missing or nil.
  @inline(__always) func present<Key: CodingKey>(_ key: borrowing Key, _ table: KeyTable) throws -> ValueHead? {
    guard let head = try find(key, table), !head.isAbsent else { return nil }
    return head
  }

  /// The value of the field `key` of the innermost value, or nil. O(1) for the next field; for another one in a small
  /// record O(fields), in a large one O(1) after O(fields) once.
  @inline(never) func findField<Key: CodingKey>(_ key: Key, _ table: KeyTable) throws -> ValueHead? {
    guard unsafe head.kind == ValueKind.record else { return nil }
    var number: UInt32?? = nil
    if !table.isInline {
      let entry = table.entry(key)
      if entry == KeyTable.unknown {
        number = .some(table.find(key, names))
      } else {
        number = .some(entry == KeyTable.absent ? nil : entry)
      }
    }
    var wanted = WantedField(key, number: number)
    guard let field = try find(&wanted) else {
      if let note = unsafe note, unsafe depth == 1 { note.missing.insert(wanted.name) }
      return nil
    }
    if field.number < 128 { unsafe asked.note(field.number) }
    unsafe lastStep = field.step
    unsafe cursor = field.value.end
    return field.value
  }

  private func find<Key>(_ wanted: inout WantedField<Key>) throws -> Field? {
    if unsafe cursor < head.end {
      let next = unsafe try field(at: cursor)
      if matches(next, &wanted) { return next }
    }
    unsafe asked.hasJumped = true
    if let index = unsafe indexes[head.start] { return find(&wanted, in: index) }
    var budget = Limits.fieldScanCount
    let (first, last) = unsafe (cursor, head.end)
    for range in unsafe [first..<last, head.start..<first] {
      var offset = range.lowerBound
      while offset < range.upperBound {
        let field = try field(at: offset)
        if matches(field, &wanted) { return field }
        offset = field.value.end
        budget -= 1
        if budget == 0 { return find(&wanted, in: try makeIndex()) }
      }
    }
    return nil
  }

  private func matches<Key>(_ field: Field, _ wanted: inout WantedField<Key>) -> Bool {
    unsafe field.number == 0 ? reader.isText(field.name, wanted.name) : field.number == wanted.number(names)
  }

  private func find<Key>(_ wanted: inout WantedField<Key>, in index: FieldIndex) -> Field? {
    if let number = wanted.number(names), let field = index.numbered[number] { return field }
    return index.named.isEmpty ? nil : index.named[wanted.name]
  }

  private func makeIndex() throws -> FieldIndex {
    let index = FieldIndex()
    var offset = unsafe head.start
    while unsafe offset < head.end {
      let field = try field(at: offset)
      if field.number != 0 {
        if index.numbered[field.number] == nil { index.numbered[field.number] = field }
      } else {
        guard let name = unsafe reader.text(field.name) else { throw damage(.none) }
        if index.named[name] == nil { index.named[name] = field }
      }
      offset = field.value.end
    }
    unsafe indexes[head.start] = index
    return index
  }

  /// The field at `offset` of the innermost value.
  private func field(at offset: Int) throws -> Field {
    var next = offset
    guard let number = unsafe reader.varint(at: &next, limit: head.end), unsafe number <= names.names.count else {
      throw damage(.none)
    }
    let nameOffset = next
    var name = ValueHead.absent
    if number == 0 {
      guard let text = unsafe reader.head(at: next, limit: head.end), text.kind == ValueKind.text else {
        throw damage(.none)
      }
      name = text
      next = text.end
    }
    guard let value = unsafe reader.head(at: next, limit: head.end) else { throw damage(.none) }
    return Field(number: number, name: name, nameOffset: nameOffset, value: value)
  }

  /// The number of the field at `offset` of the innermost value, and where the field ends.
  func numberOfField(at offset: Int) throws -> (UInt32, end: Int) {
    let field = try field(at: offset)
    return (field.number, field.value.end)
  }

  /// The names of all fields of the innermost value. Damage ends the list, and the row with an error.
  func fieldNames() -> [String] {
    guard unsafe head.kind == ValueKind.record else { return [] }
    unsafe asked.noteAll()
    var found: [String] = []
    var offset = unsafe head.start
    while unsafe offset < head.end {
      guard let field = try? field(at: offset), let name = name(of: field) else {
        unsafe hasSeenDamage = true
        break
      }
      found.append(name)
      offset = field.value.end
    }
    return found
  }

  private func name(of field: Field) -> String? {
    unsafe field.number == 0 ? reader.text(field.name) : names.name(field.number)
  }

  /// The value that `superDecoder()` stands for, or nil.
  func findSuper() throws -> ValueHead? {
    try findField(PathKey.superclass, names.table(for: PathKey.self))
  }

  /// What a value of `type` is whose field is missing: nil if it can be, else an error that names the field.
  @inline(never) func decodeMissing<Value: Decodable>(_ type: Value.Type, _ key: some CodingKey) throws -> Value {
    guard type is any ExpressibleByNilLiteral.Type else { throw missing(key) }
    return try decode(type, .absent, .none)
  }
}
