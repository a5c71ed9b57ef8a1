// quiredb log: what recovery would read.

import ArgumentParser
import QuireStorage

/// Prints the records of the log and where their chain ends.
struct Log: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the records of the log, and where and why they end. Exits with 1 if the log is damaged.")

  @OptionGroup var database: DatabaseArgument
  @Flag(help: "Prints every operation of every record.") var operations = false

  func run() throws {
    let inspector = try database.inspect()
    try describing {
      guard let log = try inspector.log() else { return print("clean: no log is needed") }
      for segment in log.meta.segments {
        print("segment \(segment.number) in \(inspector.path)-log\(segment.fileIndex), from \(segment.firstLSN)")
      }
      print("")
      print(
        "\(aligned("LSN", 12))\(aligned("CSN", 12))\(aligned("bytes", 10))\(aligned("ops", 8))  "
          + "durable up to, checkpoint")
      for record in log.scan.records { printRecord(record, log.reader) }
      print("")
      print("ends at \(log.scan.endLSN) with \(log.scan.endCSN): \(log.reasonForEnd)")
      print("known durable up to \(log.scan.durableLSN), checkpoint \(log.scan.durableCheckpoint)")
      if let defect = log.defect { throw defect }
    }
  }

  private func printRecord(_ record: LogScan.Record, _ reader: LogReader) {
    let header = record.header
    let body = reader.body(of: record)
    var decoder = LogOperationReader(body)
    var lines: [String] = []
    var count = 0
    while let operation = decoder.next() {
      count += 1
      if operations { lines.append(describe(operation)) }
    }
    let kind = header.kind == .mark ? "mark" : "\(count)"
    if let position = reader.undoPosition(of: record) { lines.insert("undo from byte \(position) on", at: 0) }
    print(
      "\(aligned(header.lsn.rawValue, 12))\(aligned(header.csn.rawValue, 12))\(aligned(header.recordByteCount, 10))"
        + "\(aligned(kind, 8))  \(header.durableLSN.rawValue), \(header.durableCheckpoint)"
        + parts(record) + (decoder.isDamaged ? "  breaks the format" : ""))
    for line in lines { print("              \(line)") }
  }

  /// What a record says of parts: its own number, or how many it commits; and what of it counts, if not everything.
  private func parts(_ record: LogScan.Record) -> String {
    let header = record.header
    switch header.kind {
    case .mark: return ""
    case .commit: return header.partNumber > 0 ? "  commits \(header.partNumber) parts" : ""
    case .part:
      let isWhole = record.committed.upperBound == header.bodyByteCount
      let state = record.committed.isEmpty ? ", void" : isWhole ? "" : ", void from byte \(record.committed.upperBound)"
      return "  part \(header.partNumber)\(state)"
    }
  }

  private func describe(_ operation: LogOperation) -> String {
    switch operation {
    case .put(let tree, let key, let value): "put \(tree) \(describe(key)) = \(hexadecimalBytes(value, limit: 32))"
    case .delete(let tree, let key): "delete \(tree) \(describe(key))"
    case .deleteRange(let tree, let lower, let upper):
      "delete \(tree) from \(lower.map(describe) ?? "the start") to \(upper.map(describe) ?? "the end")"
    case .createTree(let tree, let kind, let name): "create \(tree), \(kind), \(readable([UInt8](name)))"
    case .dropTree(let tree): "drop \(tree)"
    case .nextRowID(let next): "next row id \(next)"
    }
  }

  private func describe(_ key: LogOperation.SearchKeyBytes) -> String {
    switch key {
    case .bytes(let bytes): readable([UInt8](bytes))
    case .int64(let key): "\(key)"
    }
  }
}
