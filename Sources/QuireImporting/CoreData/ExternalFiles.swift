// Data that Core Data keeps in files beside its store.

import Foundation
import QuireDatabase

/// The files that a store of Core Data's has its long data in: `.NAME_SUPPORT/_EXTERNAL_DATA` beside it, each called by
/// a UUID.
///
/// A value of such a column begins with a byte that says where the data are: 1, behind it; 2, in the file of the name
/// that follows, as text, with or without a NUL at its end.
final class ExternalFiles: Sendable {
  private let folder: String

  private static let nameByteCount = 36

  /// The files of the store at `path`, which has no links in it.
  init(ofStoreAt path: String) {
    let url = URL(fileURLWithPath: path)
    let name = url.deletingPathExtension().lastPathComponent
    folder = url.deletingLastPathComponent().path + "/.\(name)_SUPPORT/_EXTERNAL_DATA"
  }

  var isThere: Bool { FileManager.default.fileExists(atPath: folder) }

  /// An expression of SQL's over a column: 1 and 2 as in a value, 0 for what is no such value.
  static func form(of column: String) -> String {
    """
    CASE WHEN typeof(\(column)) <> 'blob' THEN 0 WHEN substr(\(column), 1, 1) = x'01' THEN 1 \
    WHEN substr(\(column), 1, 1) = x'02' AND length(\(column)) BETWEEN \(nameByteCount + 1) AND \(nameByteCount + 2) \
    THEN 2 ELSE 0 END
    """
  }

  /// The data that a value stands for.
  func data(_ value: RowValue, _ column: String) throws(BadField) -> [UInt8] {
    guard case .bytes(let bytes) = value, let mark = bytes.first, mark == 1 || mark == 2 else {
      throw BadField(reason: "The value in “\(column)” does not say where its data are.")
    }
    if mark == 1 { return Array(bytes.dropFirst()) }
    let name = String(validating: bytes.dropFirst().prefix(Self.nameByteCount), as: UTF8.self) ?? ""
    guard UUID(uuidString: name) != nil else {
      throw BadField(reason: "The value in “\(column)” names no file by a UUID.")
    }
    return try file("\(folder)/\(name)", column)
  }

  private func file(_ path: String, _ column: String) throws(BadField) -> [UInt8] {
    // Of the file itself, and not of what a link leads to: a pipe would be waited for.
    guard let found = try? FileManager.default.attributesOfItem(atPath: path) else {
      throw BadField(
        reason: """
          The data of “\(column)” are to be in the file \(path), which is not there. Copy the folder that begins with \
          a dot along with the store, or leave the column out by --map.
          """)
    }
    guard found[.type] as? FileAttributeType == .typeRegular,
      let byteCount = found[.size] as? Int, byteCount <= QuireDatabase.Limits.valueByteCount
    else { throw BadField(reason: "The data of “\(column)” are in \(path), which is no file, or too long for a row.") }
    do {
      let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? file.close() }
      let data = [UInt8](try file.read(upToCount: byteCount) ?? Data())
      if data.count == byteCount { return data }
    } catch {
      throw BadField(
        reason: "The data of “\(column)” are in \(path), which cannot be read: \(ImportError.reason(error))")
    }
    throw BadField(reason: "The data of “\(column)” are in \(path), which was cut off while it was read.")
  }
}
