// Fields of one stored object after another, read where they lie.

/// The fields of the row that a ``FieldReader`` has come to, as they are stored.
///
/// For the thread of its reader, and of use only inside of the closure that it is given to. What is not plainly as the
/// compiler's `encode(to:)` writes it is not told: the object knows better then, or does not decode.
///
/// Invariants:
/// - outside of `begin` and `end` there are no bytes, and nothing is told;
/// - `cursor` is where a field of the object begins, or at the object's end.
@safe public final class StoredFields {
  private let context: RowCodingContext
  /// The number of upgrades that rows of today's form begin with.
  private let version: UInt8
  @exclusivity(unchecked) private(set) var plans: [FieldPlan] = []
  /// Those of the plans that are plain, in memory that costs no count; nil for the others.
  @exclusivity(unchecked) private var plain = unsafe UnsafeMutableBufferPointer<PlainField?>(start: nil, count: 0)
  @exclusivity(unchecked) private var reader = unsafe ValueReader(UnsafeRawBufferPointer(start: nil, count: 0))
  /// Where the fields of the object begin and end.
  @exclusivity(unchecked) private var start = 0
  @exclusivity(unchecked) private var limit = 0
  @exclusivity(unchecked) private var cursor = 0
  @exclusivity(unchecked) private var isTold = false
  private let buffer = SortBuffer()
  private let lengths = unsafe ValueLengths.table

  init(_ context: RowCodingContext, version: UInt8) {
    self.context = context
    self.version = version
  }

  deinit { unsafe plain.deallocate() }

  /// Adds a field, and returns its index.
  func add(_ plan: FieldPlan) -> Int {
    unsafe plans.append(plan)
    findPlain()
    return unsafe plans.count - 1
  }

  /// Finds out which fields are plain.
  private func findPlain() {
    if unsafe plain.count != plans.count {
      unsafe plain.deallocate()
      unsafe plain = .allocate(capacity: plans.count)
    }
    for index in unsafe plans.indices { unsafe plain.initializeElement(at: index, to: plans[index].plain) }
  }

  /// Finds out of an object where the fields stand of which that is not known yet. Returns whether there is a field
  /// that is read, or may be one day.
  func resolve(_ object: Any, of type: Any.Type) -> Bool {
    var isWorthwhile = false
    for plan in unsafe plans {
      plan.resolve(object, of: type, context.fieldNumber)
      if unsafe plan.state != .refused { isWorthwhile = true }
    }
    findPlain()
    return isWorthwhile
  }

  /// Looks up the numbers of fields anew, before rows of a schema that may have grown.
  func refresh() {
    for plan in unsafe plans { plan.findNumbers(context.fieldNumber) }
    findPlain()
  }

  // MARK: One object

  /// Takes the bytes of an object, with the version in front, until `end`.
  @inline(__always) func begin(_ bytes: UnsafeRawBufferPointer) {
    unsafe isTold = false
    guard unsafe bytes.count > 1 && bytes.count <= Limits.valueByteCount && bytes[0] == version else { return }
    unsafe reader = ValueReader(UnsafeRawBufferPointer(rebasing: bytes[1...]))
    if unsafe bytes[1] == ValueKind.open << 5 | OpenValue.record {
      unsafe (start, cursor, limit, isTold) = (1, 1, bytes.count &- 1, true)
    } else {
      beginClosed()
    }
  }

  /// The same for an object that says where it ends.
  @inline(never) private func beginClosed() {
    guard let head = unsafe reader.rowHead(), head.kind == ValueKind.record else { return }
    unsafe (start, cursor, limit, isTold) = (head.start, head.start, head.end, true)
  }

  /// Forgets the bytes.
  @inline(__always) func end() {
    unsafe reader = ValueReader(UnsafeRawBufferPointer(start: nil, count: 0))
    unsafe isTold = false
  }

  /// Whether `isMeant` is true for the sort bytes of a field, or for those of one of its elements; nil if only the
  /// object tells. The bytes are good until `isMeant` returns. Allocates nothing, unless a value has to be decoded.
  ///
  /// - Parameters:
  ///   - field: what `FieldReader.add` has returned.
  ///   - isMeant: says whether a value, as it is coded, is one of those that are looked for.
  public func hasValue(_ field: Int?, where isMeant: (RawSpan) throws -> Bool) rethrows -> Bool? {
    guard let field, unsafe isTold else { return nil }
    unsafe precondition(field >= 0 && field < plain.count, "the field is another reader's")
    guard let plain = unsafe plain[field] else { return try hasOtherValue(field, isMeant) }
    guard let head = unsafe find(plain.number, from: &cursor, between: start, and: limit) else { return nil }
    return try hasScalar(plain.form, isOptional: plain.isOptional, head, isMeant)
  }

  /// Whether `isMeant` is true for the sort bytes of a value of a scalar type; nil if it is not one.
  @inline(__always)
  private func hasScalar(
    _ form: ScalarForm, isOptional: Bool, _ head: ValueHead, _ isMeant: (RawSpan) throws -> Bool
  ) rethrows -> Bool? {
    buffer.removeAll()
    if head.isAbsent {
      guard isOptional else { return nil }
      buffer.append(0)
    } else {
      if isOptional { buffer.append(1) }
      guard unsafe form.append(head, reader, to: buffer) else { return nil }
    }
    return unsafe try isMeant(buffer.bytes.bytes)
  }

  @inline(never)
  private func hasOtherValue(_ field: Int, _ isMeant: (RawSpan) throws -> Bool) rethrows -> Bool? {
    let plan = unsafe plans[field]
    guard unsafe plan.state == .found, let head = find(plan) else { return nil }
    switch plan.form {
    case .scalar(let form): return try hasScalar(form, isOptional: plan.isOptional, head, isMeant)
    case .list(let form, let isSet): return try hasElement(form, isSet: isSet, head, isMeant)
    case .coded(let read):
      guard let bytes = unsafe try? read(context, reader, head) else { return nil }
      return unsafe try isMeant(bytes.span.bytes)
    }
  }

  private func hasElement(
    _ form: ScalarForm, isSet: Bool, _ list: ValueHead, _ isMeant: (RawSpan) throws -> Bool
  ) rethrows -> Bool? {
    guard list.kind == ValueKind.list else { return nil }
    var offset = list.start
    var isFound = false
    while offset < list.end {
      guard let head = unsafe reader.head(at: offset, limit: list.end) else { return nil }
      // Of texts that are equal as characters and not as bytes a set keeps one.
      if isSet, form == .text, unsafe reader.isBeyondASCII(head) { return nil }
      buffer.removeAll()
      guard unsafe form.append(head, reader, to: buffer) else { return nil }
      // On to the end all the same: the list may not be one that can be read.
      if !isFound { isFound = unsafe try isMeant(buffer.bytes.bytes) }
      offset = head.end
    }
    return isFound
  }

  // MARK: Finding

  /// The value of a field: absent if it is nil, or within what is nil; nil if that is not told.
  private func find(_ plan: FieldPlan) -> ValueHead? {
    var head: ValueHead?
    for step in unsafe plan.steps {
      guard let number = step.number else { return nil }
      var next: ValueHead?
      if let outer = head {
        guard outer.kind == ValueKind.record else { return nil }
        var place = outer.start
        next = find(number, from: &place, between: outer.start, and: outer.end)
      } else {
        next = unsafe find(number, from: &cursor, between: start, and: limit)
      }
      guard let next else { return nil }
      if next.isAbsent { return step.isOptional ? .absent : nil }
      head = next
    }
    return head
  }

  /// The value of the field of a number, looked for from `place` to the end of the record, and then in front of it;
  /// `place` moves behind it. Absent if there is none; nil if the record does not tell that.
  @inline(__always)
  private func find(_ number: UInt32, from place: inout Int, between start: Int, and end: Int) -> ValueHead? {
    let offset = unsafe reader.skipPlainFields(before: number, from: place, to: end, lengths)
    if unsafe reader.isField(number, at: offset, to: end) {
      guard let head = unsafe reader.head(at: offset &+ 1, limit: end) else { return nil }
      place = head.end
      return head
    }
    return findSlowly(number, from: &place, start, end, offset)
  }

  @inline(never)
  private func findSlowly(
    _ number: UInt32, from place: inout Int, _ start: Int, _ end: Int, _ offset: Int
  ) -> ValueHead? {
    let found =
      find(number, offset..<max(offset, end), end: end) ?? find(number, start..<max(start, place), end: end)
    guard let found else { return .absent }
    guard found.isFound else { return nil }
    place = found.value.end
    return found.value
  }

  /// The value of the first field with a number between two offsets; nil if there is none. Not found is what comes
  /// behind a field that is damaged, or whose name is spelled out.
  private func find(_ number: UInt32, _ range: Range<Int>, end: Int) -> (value: ValueHead, isFound: Bool)? {
    var offset = range.lowerBound
    while true {
      offset = unsafe reader.skipPlainFields(before: number, from: offset, to: range.upperBound, lengths)
      guard offset < range.upperBound else { return nil }
      guard let known = unsafe reader.varint(at: &offset, limit: end), known != 0,
        let value = unsafe reader.head(at: offset, limit: end)
      else { return (.absent, false) }
      if known == number { return (value, true) }
      offset = value.end
    }
  }
}
