// Runs of the puts that wait: on disk, by tree, until the trees get all of them in one pass.

/// Sorted runs of the running transaction's puts, all in one temporary file.
///
/// A run of one tree begins where that of another has ended, so that many small ones fill the blocks of the file.
/// Memory: the block that is written, and one for each run that is merged at a time.
///
/// Invariants:
/// 1. What is in a run came after what is in the runs of its tree before it.
/// 2. `count` is the number of entries in all runs.
final class PendingRuns {
  private let file: RunFile
  /// The most runs that are merged at once.
  private let mergeWidth: Int
  /// By index of the tree in the context.
  private var runs: [[RunFile.Run]] = []
  /// How many entries there are: of a key that was put again in a later run, several.
  private(set) var count = 0

  /// Of the memory budget, an eighth at the most goes to what is merged, in blocks of so many pages at the most.
  private static let budgetShare = 8
  private static let blockPages = 16
  private static let mergeWidths = 4...128
  /// So many runs should find room there before blocks are longer than they must be.
  private static let wantedWidth = 64

  /// No runs yet.
  ///
  /// - Parameter makeFile: makes the temporary file, with blocks of so many pages.
  init(_ pool: SlotPool, _ makeFile: (Int) throws(StorageError) -> RunFile) throws(StorageError) {
    let share = pool.slotLimit / Self.budgetShare
    let pages = min(max(share / Self.wantedWidth, RunFile.fewestBlockPages), Self.blockPages)
    file = try makeFile(pages)
    let width = share * pool.pageSize / file.readByteCount
    mergeWidth = min(max(width, Self.mergeWidths.lowerBound), Self.mergeWidths.upperBound)
  }

  /// Whether there is anything for a tree.
  func has(treeAt index: Int) -> Bool { index < runs.count && !runs[index].isEmpty }

  /// The trees that there is anything for.
  var treeIndices: [Int] { runs.indices.filter { !runs[$0].isEmpty } }

  /// Writes sorted puts as a run of the tree `index`. It can be read once `endBlock` has been called.
  ///
  /// - Throws: `diskFull`, `inputOutput`. The runs are of no use then.
  func append(
    _ operations: UnsafeBufferPointer<SortableOperation>, _ kind: KeyKind, treeAt index: Int
  ) throws(StorageError) {
    if index >= runs.count { runs.append(contentsOf: repeatElement([], count: index + 1 - runs.count)) }
    file.beginRun()
    for operation in operations {
      assert(operation.content == .value, "what goes to a run is a value")
      try file.append(operation, kind)
    }
    guard let run = file.endRun() else { return }
    count += run.entryCount
    runs[index].append(run)
  }

  /// Writes what is still in the block.
  ///
  /// - Throws: as `append`.
  func endBlock() throws(StorageError) { try file.endBlock() }

  /// What merging the runs of one tree takes, in bytes, and the list of all runs.
  var mergeByteCount: Int {
    let longest = runs.reduce(0) { max($0, $1.count) }
    let listed = runs.reduce(runs.count) { $0 + $1.count }
    return (min(longest, mergeWidth) + 1) * file.readByteCount + listed * MemoryLayout<RunFile.Run>.stride
  }

  /// The entries for the tree `index`, merged, of equal keys the last one; and how many there are at the most.
  ///
  /// - Throws: `diskFull`, `inputOutput`.
  func merged(treeAt index: Int, _ kind: KeyKind) throws(StorageError) -> (entries: RunMerger, limit: Int) {
    let limit = runs[index].reduce(0) { $0 + $1.entryCount }
    try file.reduce(&runs[index], to: mergeWidth, kind)
    return (try RunMerger(file, runs[index][...], kind), limit)
  }

  /// Checks the invariants; returns what is broken.
  func checkInvariants() -> String? {
    runs.joined().reduce(0) { $0 + $1.entryCount } == count ? nil : "puts in runs have been miscounted"
  }
}
