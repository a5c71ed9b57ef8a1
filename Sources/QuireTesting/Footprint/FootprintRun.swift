// What a database takes of the disk: while it is written, at rest, and closed.

package import QuireStorage

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// The blocks that the files of a database take, and what they may take.
package struct Footprint: Sendable {
  /// Keys and values of all rows, in bytes.
  package let contentByteCount: Int
  /// The most that the files took while rows were written, in bytes.
  package private(set) var writing = 0
  /// What they took when nobody had written for a while, and how many seconds after the last commit that was.
  package fileprivate(set) var resting = 0
  package fileprivate(set) var secondsToRest = 0.0
  /// What they took when the database was closed.
  package fileprivate(set) var closed = 0
  /// How long writing took, in seconds.
  package fileprivate(set) var secondsWriting = 0.0

  fileprivate init(contentByteCount: Int) { self.contentByteCount = contentByteCount }

  fileprivate mutating func note(writing byteCount: Int) { writing = max(writing, byteCount) }

  /// What the files may take at rest and closed, in bytes: a MiB, or 1.3 times the content.
  package var restingLimit: Int { max(1 << 20, contentByteCount / 10 * 13) }
  /// What the files of a database may take while it is written that is to be small: twice the content, or 4 MiB more
  /// than it.
  package var writingLimit: Int { contentByteCount + max(4 << 20, contentByteCount) }
}

/// Writes a database of some size and looks at the blocks of its files all the while.
package struct FootprintRun {
  private let path: String
  private let rowCount: Int
  private let engine: StorageEngine
  private let tree: Tree
  private var random: SeededRandom
  private var commitCount = 0
  /// What has been found so far.
  package private(set) var footprint: Footprint

  private static let valueByteCount = 120
  private static let rowByteCount = valueByteCount + 8
  private static let rowsPerCommit = 64
  private static let commitsPerLook = 8

  /// A new database at `path` that will hold so many bytes of rows.
  ///
  /// - Throws: what opening throws.
  package init(at path: String, contentByteCount: Int, options: StorageOptions, seed: UInt64 = 1) throws {
    self.path = path
    rowCount = max(1, contentByteCount / Self.rowByteCount)
    footprint = Footprint(contentByteCount: rowCount * Self.rowByteCount)
    engine = try StorageEngine(at: path, options: options)
    tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
    random = SeededRandom(seed: seed)
  }

  /// The files that a database at `path` may have.
  private static func names(at path: String) -> [String] { [path] + (0..<8).map { "\(path)-log\($0)" } }

  /// Removes the files of the database at `path`, which nobody has open.
  package static func removeFiles(at path: String) { for name in names(at: path) { unlink(name) } }

  /// The blocks that the files of the database at `path` take, in bytes. Three system calls a file.
  package static func allocatedByteCount(at path: String) -> Int {
    let files = RealFileSystem()
    return names(at: path).reduce(0) { total, name in
      do {
        let file = try files.open(name, .readOnly)
        defer { file.close() }
        return total + (try file.status().allocatedByteCount)
      } catch {
        return total
      }
    }
  }

  /// Puts all rows in, one after the other, and then replaces rows at random until `byteCount` bytes of rows have been
  /// written in all.
  package mutating func write(byteCount: Int) throws {
    let clock = ContinuousClock()
    let start = clock.now
    for first in stride(from: 0, to: rowCount, by: Self.rowsPerCommit) {
      try put((first..<min(rowCount, first + Self.rowsPerCommit)).map { Int64($0) })
    }
    let rest = max(0, byteCount - footprint.contentByteCount) / (Self.rowsPerCommit * Self.rowByteCount)
    for _ in 0..<rest { try put((0..<Self.rowsPerCommit).map { _ in Int64(random.below(rowCount)) }) }
    footprint.note(writing: Self.allocatedByteCount(at: path))
    footprint.secondsWriting = seconds(since: start)
  }

  private mutating func put(_ keys: [Int64]) throws {
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: commitCount), count: Self.valueByteCount)
    try engine.write { [tree] tx in for key in keys { try tx.put(value, for: key, in: tree) } }
    commitCount += 1
    guard commitCount % Self.commitsPerLook == 0 else { return }
    footprint.note(writing: Self.allocatedByteCount(at: path))
  }

  /// Waits until the files take no more than they may at rest, or `seconds` seconds.
  package mutating func rest(atMost seconds: Double) {
    let start = ContinuousClock().now
    repeat {
      usleep(50_000)
      footprint.resting = Self.allocatedByteCount(at: path)
      footprint.secondsToRest = self.seconds(since: start)
    } while footprint.resting > footprint.restingLimit && footprint.secondsToRest < seconds
  }

  private func seconds(since start: ContinuousClock.Instant) -> Double {
    (ContinuousClock().now - start) / Duration.seconds(1)
  }

  /// Closes the database and looks at what is left; verifies it before that.
  ///
  /// - Throws: what verifying and closing throw.
  package mutating func close() throws {
    try engine.verify()
    try engine.close()
    footprint.closed = Self.allocatedByteCount(at: path)
  }
}
