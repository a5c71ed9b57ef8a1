// Short forms for the tests of the simulated disk.

import QuireStorage
import QuireTesting

extension FileSystem {
  /// Makes a file and its name durable.
  func createDurably(_ path: String, _ bytes: [UInt8] = []) throws -> any File {
    let file = try open(path, .createNew)
    if !bytes.isEmpty { try file.put(bytes, at: 0) }
    try file.synchronize()
    try synchronizeDirectory(of: path)
    return file
  }
}

extension File {
  /// One write; returns how many bytes it took.
  @discardableResult func put(_ bytes: [UInt8], at offset: Int) throws -> Int {
    try bytes.withUnsafeBytes { try writeSome($0, at: offset) }
  }

  /// One read.
  func get(_ count: Int, at offset: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let done = try bytes.withUnsafeMutableBytes { try readSome(into: $0, at: offset) }
    return Array(bytes[..<done])
  }
}

extension SimulatedDisk {
  /// Has one write or sync of the log fail, or of the data file, after letting some go by; the database is at `/db`.
  func failOnce(_ kind: OperationKind, ofLog isOfLog: Bool, skipping skipCount: Int, _ syncFailure: SyncFailure) {
    interceptOnce(
      skipping: skipCount, where: { $0.kind == kind && $0.path.hasPrefix("/db-log") == isOfLog },
      { _ in
        if kind == .write { return .error(SystemCode.inputOutput) }
        return .failedSync(syncFailure, SystemCode.inputOutput, survivorsOneIn: syncFailure == .reverts ? 0 : 2)
      })
  }
}

/// `count` times the same byte.
func fill(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

/// The error number that `body` throws, or nil.
func errorCode(_ body: () throws -> Void) -> Int32? {
  do {
    try body()
    return nil
  } catch {
    return (error as? SystemError)?.code
  }
}
