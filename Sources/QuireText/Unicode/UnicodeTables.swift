// The Unicode data, read once.

/// What is known of all scalars. Read from the data of the program when it is first needed, and kept.
final class UnicodeTables: Sendable {
  static let shared = UnicodeTables()

  let kinds: KindTable
  let normalizer: Normalizer
  /// Forms of width and of letters within words, ligatures, and apostrophes.
  let width: ScalarMap
  /// Full case folding.
  let caseFolding: ScalarMap
  /// Letters with a stroke that are not decomposed.
  let strokes: ScalarMap
  /// Marks that are accents.
  let accents: [ScalarRun]
  /// What is not seen by itself and means nothing to a search, such as soft hyphens and joiners.
  let ignorable: [ScalarRun]
  /// What unicode61 folds without removal of diacritics, with simple and with complete removal.
  let folding61: [ScalarMap]

  private init() {
    var reader = UnicodeReader()
    let kinds = reader.kinds()
    self.kinds = KindTable(kinds, reader.runs())
    let (pairs, singles) = (reader.map(), reader.map())
    width = reader.map()
    caseFolding = reader.map()
    strokes = reader.map()
    accents = reader.runs()
    ignorable = reader.runs()
    normalizer = Normalizer(pairs: pairs, singles: singles, combiningClasses: reader.runs())
    folding61 = (0..<3).map { _ in reader.map() }
    precondition(reader.isAtEnd, "the Unicode data is not what is read")
  }
}

/// The kind of each scalar. Good at every time and for every thread.
@safe struct KindTable: @unchecked Sendable {
  // This is safe because the memory is written in `init` alone, and never freed.
  private let numbers: ScalarTable<UInt8>
  private let kinds: UnsafePointer<ScalarKind>

  fileprivate init(_ list: [ScalarKind], _ runs: [ScalarRun]) {
    precondition(list.count <= 256 && runs.allSatisfy { $0.value < list.count }, "there are more kinds than numbers")
    var builder = ScalarTableBuilder<UInt8>()
    for run in runs { builder.set(run.scalars, UInt8(run.value)) }
    numbers = ScalarTable(builder)
    let memory = UnsafeMutablePointer<ScalarKind>.allocate(capacity: list.count)
    for (index, kind) in list.enumerated() { unsafe memory[index] = kind }
    unsafe kinds = unsafe UnsafePointer(memory)
  }

  @inline(__always) subscript(scalar: UInt32) -> ScalarKind { unsafe kinds[Int(numbers[scalar])] }

  /// The number of bytes that it takes.
  var byteCount: Int { numbers.byteCount }
}
