// What scalars are folded to.
//
// Words are folded in this order, which makes equal what is canonically equal:
//
// 1. Decomposition: the canonical one, and that of forms: full and half width, small and vertical forms, letters of
//    mathematics, Arabic letters by their place in the word, ligatures of letters (U+FB01 is f and i). Superscripts,
//    fractions and circled numbers stay. U+2019, as it is typed in contractions, becomes an apostrophe.
// 2. Accents go, unless they are kept: nonspacing marks of Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Syriac and
//    Coptic letters, the strokes of đ, ħ, ł, ø and ŧ, and the skin tones of emoji. The marks of all other scripts, and
//    the sound marks of kana, are no accents: without them another word stands there.
// 3. Case: full case folding (ß is ss), unless it is kept, and decomposition again. The iota below stays a mark: as a
//    letter it would stand behind or in front of other marks, by how they were typed.
// 4. What is ignorable by the standard goes: soft hyphens, joiners, selectors of variants.
// 5. Canonical composition.

/// What scalars are folded to, as bytes. Good at every time and for every thread.
@safe struct FoldTable: @unchecked Sendable {
  // This is safe because the memory is written in `init` alone, and never freed.
  /// For each scalar, where in `pool` that stands which it becomes; 0 if it stays.
  private let places: ScalarTable<UInt16>
  /// One byte, the number of bytes and `mayComposeFlag`, and the bytes.
  private let pool: UnsafePointer<UInt8>
  /// What is folded becomes fewer bytes than this.
  static let mostBytes = 128
  private static let mayComposeFlag: UInt8 = 0x80

  /// The folding of words.
  static func words(keepingAccents: Bool, keepingCase: Bool) -> FoldTable {
    switch (keepingAccents, keepingCase) {
    case (false, false): plain
    case (true, false): accented
    case (false, true): cased
    case (true, true): whole
    }
  }

  private static let plain = FoldTable(keepingAccents: false, keepingCase: false)
  private static let accented = FoldTable(keepingAccents: true, keepingCase: false)
  private static let cased = FoldTable(keepingAccents: false, keepingCase: true)
  private static let whole = FoldTable(keepingAccents: true, keepingCase: true)
  /// The foldings of unicode61, by the removal of diacritics.
  static let unicode61 = UnicodeTables.shared.folding61.map { FoldTable($0) }

  private init(keepingAccents: Bool, keepingCase: Bool) {
    let tables = UnicodeTables.shared
    var builder = FoldTableBuilder()
    let maps = tables.normalizer.maps + [tables.width, tables.caseFolding, tables.strokes]
    for scalar in Set(maps.flatMap(\.scalars)).sorted() {
      let folded = tables.fold(scalar, keepingAccents: keepingAccents, keepingCase: keepingCase)
      if folded != [scalar] { builder.set(scalar..<scalar + 1, folded) }
    }
    for run in (keepingAccents ? [] : tables.accents) + tables.ignorable { builder.set(run.scalars, []) }
    self.init(builder)
  }

  private init(_ map: ScalarMap) {
    var builder = FoldTableBuilder()
    for (index, scalar) in map.scalars.enumerated() { builder.set(scalar..<scalar + 1, Array(map[index])) }
    self.init(builder)
  }

  private init(_ builder: FoldTableBuilder) {
    places = ScalarTable(builder.places)
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: builder.pool.count)
    for (index, byte) in builder.pool.enumerated() { unsafe memory[index] = byte }
    unsafe pool = unsafe UnsafePointer(memory)
  }

  /// Where that stands which a scalar becomes; nil if it stays.
  @inline(__always) func place(of scalar: UInt32) -> Int? {
    let place = places[scalar]
    return place == 0 ? nil : Int(place)
  }

  /// The number of bytes at a place.
  @inline(__always) func byteCount(at place: Int) -> Int { unsafe Int(pool[place] & 0x7f) }

  /// Whether what stands at a place may be composed with what stands in front of it, or change places with it.
  @inline(__always) func mayCompose(at place: Int) -> Bool { unsafe pool[place] & Self.mayComposeFlag != 0 }

  /// Copies the bytes at a place.
  @inline(__always) func copy(at place: Int, to target: UnsafeMutablePointer<UInt8>) {
    for index in 0..<byteCount(at: place) { unsafe target[index] = pool[place + 1 + index] }
  }

  fileprivate static func mark(_ scalars: [UInt32], _ byteCount: Int) -> UInt8 {
    precondition(byteCount < mostBytes, "a scalar is folded to more than there is room for")
    let kinds = UnicodeTables.shared.kinds
    let mayCompose = scalars.contains { kinds[$0].mayCompose || kinds[$0].isCombining }
    return UInt8(byteCount) | (mayCompose ? mayComposeFlag : 0)
  }
}

/// Puts a folding together; equal bytes stand in the pool once.
private struct FoldTableBuilder {
  var places = ScalarTableBuilder<UInt16>()
  // Place 0 means that a scalar stays.
  var pool: [UInt8] = [0]
  private var known: [[UInt32]: UInt16] = [:]

  mutating func set(_ scalars: Range<UInt32>, _ folded: [UInt32]) {
    if let place = known[folded] { return places.set(scalars, place) }
    var bytes: [UInt8] = []
    for scalar in folded { forEachByte(of: scalar) { bytes.append($0) } }
    let place = UInt16(pool.count)
    pool.append(FoldTable.mark(folded, bytes.count))
    pool += bytes
    known[folded] = place
    places.set(scalars, place)
  }
}

extension UnicodeTables {
  private static let iotaBelow: UInt32 = 0x345

  /// What a word's scalar becomes.
  func fold(_ scalar: UInt32, keepingAccents: Bool, keepingCase: Bool) -> [UInt32] {
    var folded: [UInt32] = []
    normalizer.decompose(scalar, further: width, into: &folded)
    if !keepingAccents { folded = withoutAccents(folded) }
    if !keepingCase {
      let lower = folded.flatMap { $0 == Self.iotaBelow ? [$0] : Array(caseFolding($0) ?? [$0]) }
      folded.removeAll()
      for scalar in lower { normalizer.decompose(scalar, further: width, into: &folded) }
      if !keepingAccents { folded = withoutAccents(folded) }
    }
    folded.removeAll { ignorable.value(of: $0) != nil }
    normalizer.reorder(&folded)
    normalizer.compose(&folded)
    return folded
  }

  private func withoutAccents(_ scalars: [UInt32]) -> [UInt32] {
    scalars.filter { accents.value(of: $0) == nil }.flatMap { Array(strokes($0) ?? [$0]) }
  }
}
