// quire-torture footprint: what a database takes of the disk.

import ArgumentParser
import QuireStorage
import QuireTesting

/// Measures the files of databases of several sizes.
struct Footprints: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "footprint",
    abstract: "Measures what databases take of the disk: while they are written, at rest, and closed.",
    discussion: """
      For each size: rows of 128 bytes are put in, one after the other, and then replaced at random, 64 in a \
      transaction. The blocks of all files are added up, in KiB: the most while rows were written; what is left when \
      nobody has written for a second or more; and what is left when the database is closed. Ends with status 1 if \
      the files take more than a MiB and 1.3 times the content at rest or closed, or, where the footprint is to be \
      small, more than 4 MiB beside the content and twice the content while rows are written.
      """)

  @Argument(help: "A folder for the databases, which are removed.", completion: .directory)
  var folder: String
  @Option(parsing: .upToNextOption, help: "The sizes of the content, in KiB.")
  var sizes = [64, 1 << 10, 8 << 10, 64 << 10]
  @Option(help: "How many MiB of rows to write, or twice the content if that is more.")
  var written = 96
  @Option(help: "Seconds to wait for a database to be at rest.")
  var patience = 20.0

  func run() throws {
    print(
      padded("", 6) + aligned("content", 8) + aligned("writing", 10) + aligned("at rest", 9) + aligned("after s", 9)
        + aligned("closed", 8) + aligned("allowed", 9) + aligned("MiB/s", 8))
    var isExceeded = false
    for size in sizes {
      for diskFootprint in [DiskFootprint.fast, .small] {
        isExceeded = try describing { try measure(size << 10, diskFootprint) } || isExceeded
      }
    }
    if isExceeded {
      complain("files took more of the disk than they may.")
      throw ExitCode.failure
    }
  }

  /// Measures one size; whether the files took too much.
  private func measure(_ contentByteCount: Int, _ diskFootprint: DiskFootprint) throws -> Bool {
    let path = "\(folder)/footprint-\(contentByteCount).quire"
    FootprintRun.removeFiles(at: path)
    defer { FootprintRun.removeFiles(at: path) }
    var run = try FootprintRun(
      at: path, contentByteCount: contentByteCount,
      options: StorageOptions(durability: .relaxed, diskFootprint: diskFootprint))
    let byteCount = max(written << 20, 2 * contentByteCount)
    try run.write(byteCount: byteCount)
    run.rest(atMost: patience)
    try run.close()
    let found = run.footprint
    let isExceeded =
      max(found.resting, found.closed) > found.restingLimit
      || diskFootprint == .small && found.writing > found.writingLimit
    let speed = Double(byteCount) / 1_048_576 / found.secondsWriting
    let columns = [
      aligned(found.contentByteCount >> 10, 8), aligned(found.writing >> 10, 10), aligned(found.resting >> 10, 9),
      aligned(Double(Int(found.secondsToRest * 10)) / 10, 9), aligned(found.closed >> 10, 8),
      aligned(found.restingLimit >> 10, 9), aligned(Int(speed), 8), isExceeded ? "  too much" : "",
    ]
    print(padded("\(diskFootprint)", 6) + columns.joined())
    return isExceeded
  }
}
