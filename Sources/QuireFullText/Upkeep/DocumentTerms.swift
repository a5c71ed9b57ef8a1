// The tokens of one row as postings.

internal import QuireDatabase
internal import QuireText

/// The terms of one row in order, each with the fields and positions at which the row has it.
///
/// To be filled with the tokens of the row, field by field, and then finished. It is used again and again: what it has
/// allocated it keeps, and a token costs no allocation.
///
/// Invariants, once it is finished:
/// 1. `order` has each term once, in the order of its bytes.
/// 2. The places of a term are in the order of fields, and of positions within one, and none is there twice.
struct DocumentTerms {
  /// One term.
  struct Term {
    /// Where its bytes are in `bytes`.
    let start: Int
    let byteCount: UInt8
    let hash: UInt64
    /// The first eight bytes as a number that has their order, zeros behind a shorter term.
    let prefix: UInt64
    /// The places are those below this index, from that of the term before on; while it is filled, their number.
    var placeEnd: Int
  }

  /// A token that is a term.
  struct Token {
    let term: Int32
    let field: UInt8
    var position: UInt32
  }

  private var bytes: [UInt8] = []
  private(set) var terms: [Term] = []
  /// The terms in the order of their bytes.
  private var order: [OrderedTerm] = []
  /// The tokens that are terms, in the order in which they came.
  private(set) var tokens: [Token] = []
  /// For each hash, from its place on, the index of a term and 1; 0 where there is none.
  private var slots = [Int32](repeating: 0, count: 256)
  // The places of all terms, one behind the other.
  private var placeStarts: [Int] = []
  private var fields: [UInt8] = []
  private var positions: [UInt32] = []
  // Where the field that is being filled has come to.
  private var field = -1
  /// The position of the last token of the field; -1 if it has none.
  private(set) var lastPosition = -1
  private var isFirstOfText = true
  private var hash = TextHash()

  /// The number of tokens, without those that are another form of the one before.
  private(set) var length: UInt64 = 0
  /// What tells the tokens from those of another row.
  private(set) var hashValue: UInt64 = 0

  /// Positions are below this.
  static let positionEnd = Int(UInt32.max)
  /// So many terms and tokens one row can have.
  private static let countEnd = Int(Int32.max)

  // MARK: Filling

  /// Takes in the texts of a row, which `forEachText` hands over, in the place of the row before.
  ///
  /// - Throws: what `forEachText` throws, `FullTextError.tooManyTokens`.
  mutating func read(
    _ key: String, _ layout: TextLayout, _ forEachText: ((Int, RawSpan) throws -> Void) throws -> Void
  ) throws {
    begin()
    try forEachText { field, text in
      guard try add(text, field: field, layout.tokenizer) else {
        throw FullTextError.tooManyTokens(fullText: layout.name, field: layout.fieldNames[field], row: key)
      }
    }
    finish()
  }

  /// The tokens so far as a record; nil if there are none.
  var currentRecord: TextRecord? {
    tokens.isEmpty ? nil : TextRecord(length: max(1, length), hash: hash.value)
  }

  /// Forgets the row before.
  mutating func begin() {
    if slots.count > 1 << 16 { slots = [Int32](repeating: 0, count: 256) } else { clearSlots() }
    bytes.removeAll(keepingCapacity: true)
    terms.removeAll(keepingCapacity: true)
    order.removeAll(keepingCapacity: true)
    tokens.removeAll(keepingCapacity: true)
    (field, lastPosition, length, hashValue) = (-1, -1, 0, 0)
    hash = TextHash()
  }

  private mutating func clearSlots() {
    guard terms.count * 4 < slots.count else {
      for index in slots.indices { slots[index] = 0 }
      return
    }
    for term in terms {
      var slot = Int(truncatingIfNeeded: term.hash) & (slots.count - 1)
      while slots[slot] != 0 {
        slots[slot] = 0
        slot = (slot + 1) & (slots.count - 1)
      }
    }
  }

  /// Takes in the tokens of a text; texts come in the order of their fields. Returns false if they are more than can be
  /// numbered.
  ///
  /// - Throws: what the tokenizer throws.
  mutating func add(_ text: RawSpan, field: Int, _ tokenizer: some Tokenizer) throws -> Bool {
    beginText(ofField: field)
    var isInBounds = true
    try tokenizer.forEachToken(in: text, for: .document) { token, place in
      if isInBounds { isInBounds = add(token, step: place.step) }
    }
    return isInBounds
  }

  /// The same, and notes in `edit` which of the tokens come of the part of the text that differs.
  mutating func add(
    _ text: RawSpan, field: Int, _ tokenizer: some Tokenizer, noting edit: inout EditedTokens
  ) throws -> Bool {
    beginText(ofField: field)
    edit.begin(at: tokens.count, field, lastPosition)
    var isInBounds = true
    try tokenizer.forEachToken(in: text, for: .document) { token, place in
      edit.note(place.range, tokens.count)
      if isInBounds { isInBounds = add(token, step: place.step) }
    }
    edit.end(at: tokens.count)
    return isInBounds
  }

  private mutating func beginText(ofField field: Int) {
    assert(field >= self.field, "texts come out of the order of their fields")
    if field != self.field {
      self.field = field
      lastPosition = -1
    } else if lastPosition >= 0 {
      // A position stays free, so that no phrase goes from one text into the next.
      lastPosition += 1
    }
    isFirstOfText = true
  }

  /// Takes in a token at a position of a field, behind all others, that another document has.
  mutating func add(_ token: Token, of other: DocumentTerms) {
    let term = other.terms[Int(token.term)]
    unsafe other.bytes.withUnsafeBytes { bytes in
      let own = unsafe UnsafeRawBufferPointer(rebasing: bytes[term.start..<term.start + Int(term.byteCount)])
      let index = unsafe termIndex(own, TermKey(own))
      tokens.append(Token(term: index, field: token.field, position: token.position))
      terms[Int(index)].placeEnd += 1
    }
  }

  /// The index of the term of a token, which is new perhaps and stands nowhere then; nil if it is no term.
  @inline(__always) mutating func index(ofToken token: RawSpan) -> Int32? {
    unsafe token.withUnsafeBytes { bytes -> Int32? in
      let key = unsafe TermKey(bytes)
      if !key.hasZeros, bytes.count <= TermKeys.maximumByteCount {
        return unsafe bytes.isEmpty ? nil : termIndex(bytes, key)
      }
      return cutTermIndex(token)
    }
  }

  private mutating func add(_ token: RawSpan, step: Int) -> Bool {
    // The first token of a text stands where the text begins, whatever its step is.
    let step = isFirstOfText ? 1 : max(0, step)
    isFirstOfText = false
    guard step <= Self.positionEnd, lastPosition + step < Self.positionEnd, tokens.count < Self.countEnd else {
      return false
    }
    lastPosition += step
    guard let index = index(ofToken: token) else { return true }
    if step > 0 || tokens.isEmpty { length += 1 }
    hash.add(terms[Int(index)].hash)
    hash.add(UInt64(lastPosition) | UInt64(field) << 32)
    tokens.append(Token(term: index, field: UInt8(field), position: UInt32(lastPosition)))
    terms[Int(index)].placeEnd += 1
    return true
  }

  /// The index of the term of a token that is not one as it stands; nil if it is none.
  @inline(never) private mutating func cutTermIndex(_ token: RawSpan) -> Int32? {
    var term: [UInt8] = []
    TermKeys.cut(token, to: &term)
    if term.isEmpty { return nil }
    return unsafe term.withUnsafeBytes { unsafe termIndex($0, TermKey($0)) }
  }

  /// The index of a term, which is new perhaps.
  @inline(__always) private mutating func termIndex(_ term: UnsafeRawBufferPointer, _ key: TermKey) -> Int32 {
    var slot = Int(truncatingIfNeeded: key.hash) & (slots.count - 1)
    while slots[slot] != 0 {
      let index = Int(slots[slot] - 1)
      if terms[index].hash == key.hash, unsafe isTerm(index, term) { return Int32(truncatingIfNeeded: index) }
      slot = (slot + 1) & (slots.count - 1)
    }
    terms.append(
      Term(start: bytes.count, byteCount: UInt8(term.count), hash: key.hash, prefix: key.prefix, placeEnd: 0))
    unsafe bytes.append(contentsOf: term)
    slots[slot] = Int32(terms.count)
    if terms.count * 2 > slots.count { growSlots() }
    return Int32(terms.count - 1)
  }

  @inline(__always) private func isTerm(_ index: Int, _ term: UnsafeRawBufferPointer) -> Bool {
    let known = terms[index]
    guard Int(known.byteCount) == term.count else { return false }
    return unsafe bytes.withUnsafeBytes { bytes in
      unsafe ByteOrder.areEqual(
        UnsafeRawBufferPointer(rebasing: bytes[known.start..<known.start + Int(known.byteCount)]), term)
    }
  }

  private mutating func growSlots() {
    slots = [Int32](repeating: 0, count: slots.count * 4)
    for (index, term) in terms.enumerated() {
      var slot = Int(truncatingIfNeeded: term.hash) & (slots.count - 1)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = Int32(index + 1)
    }
  }

  // MARK: Finishing

  /// Puts the terms in order, and each one's places together.
  mutating func finish() {
    hashValue = hash.value
    var end = 0
    placeStarts.removeAll(keepingCapacity: true)
    for index in terms.indices {
      placeStarts.append(end)
      end += terms[index].placeEnd
    }
    if fields.count < end {
      fields += [UInt8](repeating: 0, count: end - fields.count)
      positions += [UInt32](repeating: 0, count: end - positions.count)
    }
    for index in terms.indices { terms[index].placeEnd = placeStarts[index] }
    for token in tokens {
      let (term, next) = (Int(token.term), terms[Int(token.term)].placeEnd)
      // Two forms of a word may be the same term.
      if next > placeStarts[term], fields[next - 1] == token.field, positions[next - 1] == token.position { continue }
      (fields[next], positions[next]) = (token.field, token.position)
      terms[term].placeEnd = next + 1
    }
    var ordered: [OrderedTerm] = []
    swap(&ordered, &order)
    for (index, term) in terms.enumerated() { ordered.append(OrderedTerm(prefix: term.prefix, index: Int32(index))) }
    ordered.sort(byRest: precedes)
    swap(&ordered, &order)
    assert(isSound, "the terms of a row are out of order")
  }

  /// Whether the invariants hold.
  private var isSound: Bool {
    for place in 0..<order.count {
      if place > 0, order(place - 1, beside: self, place) >= 0 { return false }
      let range = placeRange(place)
      if range.isEmpty { return false }
      for index in range.dropFirst()
      where (fields[index - 1], positions[index - 1]) >= (fields[index], positions[index]) { return false }
    }
    return order.count == terms.count
  }

  private func precedes(_ left: Int32, _ right: Int32) -> Bool {
    let (left, right) = (terms[Int(left)], terms[Int(right)])
    return unsafe bytes.withUnsafeBytes { bytes in
      unsafe ByteOrder.precedes(
        UnsafeRawBufferPointer(rebasing: bytes[left.start..<left.start + Int(left.byteCount)]),
        UnsafeRawBufferPointer(rebasing: bytes[right.start..<right.start + Int(right.byteCount)]))
    }
  }

  // MARK: Looking

  /// Whether it takes little memory.
  var isSmall: Bool { bytes.capacity < 1 << 16 && tokens.capacity < 1 << 13 && slots.count <= 1 << 13 }

  var termCount: Int { terms.count }
  var isEmpty: Bool { terms.isEmpty }

  /// The record of the row; nil if it has no tokens.
  var record: TextRecord? { terms.isEmpty ? nil : TextRecord(length: max(1, length), hash: hashValue) }

  /// Calls `body` with the bytes of the term at a place in the order.
  @inline(__always)
  func withTerm<Result>(_ place: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let term = terms[Int(order[place].index)]
    return try unsafe bytes.withUnsafeBytes {
      try unsafe body(UnsafeRawBufferPointer(rebasing: $0[term.start..<term.start + Int(term.byteCount)]))
    }
  }

  /// The first eight bytes of the term at a place, as a number that has their order.
  func prefix(_ place: Int) -> UInt64 { order[place].prefix }

  /// The term at a place in the order.
  func term(_ place: Int) -> [UInt8] { unsafe withTerm(place) { unsafe [UInt8]($0) } }

  /// Negative, zero or positive as the term at a place is below, the same as, or above one of another row.
  func order(_ place: Int, beside other: DocumentTerms, _ otherPlace: Int) -> Int {
    let (left, right) = (order[place].prefix, other.order[otherPlace].prefix)
    if left != right { return left < right ? -1 : 1 }
    return unsafe withTerm(place) { left in
      unsafe other.withTerm(otherPlace) { right in unsafe ByteOrder.compare(left, right) }
    }
  }

  private func placeRange(_ place: Int) -> Range<Int> {
    let index = Int(order[place].index)
    return placeStarts[index]..<terms[index].placeEnd
  }

  /// Whether the row has the term at a place as another row has one, as far as postings of this form tell.
  func hasSamePosting(_ place: Int, as other: DocumentTerms, _ otherPlace: Int, _ form: PostingForm) -> Bool {
    let (own, others) = (placeRange(place), other.placeRange(otherPlace))
    if form.detail == .rows { return mask(own) == other.mask(others) }
    guard own.count == others.count, fields[own] == other.fields[others] else { return false }
    return !form.hasPositions || positions[own] == other.positions[others]
  }

  private func mask(_ range: Range<Int>) -> FieldMask {
    var mask: FieldMask = 0
    for index in range { mask |= 1 << FieldMask(fields[index]) }
    return mask
  }

  /// Appends the posting of the term at a place.
  func append(_ place: Int, of row: RowID, to list: inout PostingList, _ form: PostingForm) {
    let range = placeRange(place)
    assert(!range.isEmpty, "a term stands nowhere")
    list.rowIDs.append(row)
    list.masks.append(mask(range))
    var index = range.lowerBound
    while index < range.upperBound {
      let field = fields[index]
      var end = index + 1
      while end < range.upperBound, fields[end] == field { end += 1 }
      list.frequencies.append(form.hasFrequencies ? UInt32(end - index) : 1)
      index = end
    }
    list.frequencyEnds.append(list.frequencies.count)
    guard form.hasPositions else { return }
    list.positions += positions[range]
    list.positionEnds.append(list.positions.count)
  }

  /// Appends the value that "recent" has of the posting of the term at a place: what `RecentCodec` makes of it, without
  /// a list in between.
  func appendValue(_ place: Int, to bytes: inout [UInt8], _ form: PostingForm) {
    let range = placeRange(place)
    assert(!range.isEmpty, "a term stands nowhere")
    if form.fieldCount > 1 { bytes.appendVarint(mask(range)) }
    if form.hasFrequencies {
      var start = range.lowerBound
      for index in range where index + 1 == range.upperBound || fields[index + 1] != fields[index] {
        bytes.appendVarint(UInt64(index - start))
        start = index + 1
      }
    }
    guard form.hasPositions else { return }
    var expected: UInt32 = 0
    for index in range {
      if index > range.lowerBound, fields[index - 1] != fields[index] { expected = 0 }
      bytes.appendVarint(UInt64(positions[index] - expected))
      expected = positions[index] + 1
    }
  }

  /// How often the row has the term at a place, as far as postings of this form tell.
  func frequency(_ place: Int, _ form: PostingForm) -> Int {
    form.hasFrequencies ? placeRange(place).count : mask(placeRange(place)).nonzeroBitCount
  }
}
