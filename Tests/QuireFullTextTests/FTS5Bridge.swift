// A tokenizer of Quire's, given to FTS5.

import CSQLite3
import QuireText

/// What has FTS5 cut texts by a tokenizer of Quire’s, with several forms of a word at one place.
enum FTS5Bridge {
  /// By what `tokenize` names it.
  static let name = "quire"

  struct Failure: Error {}

  private final class Box {
    let tokenizer: any Tokenizer

    init(_ tokenizer: any Tokenizer) { self.tokenizer = tokenizer }
  }

  static func register(_ tokenizer: any Tokenizer, with database: OpaquePointer?) throws {
    guard let api = interface(of: database) else { throw Failure() }
    var methods = fts5_tokenizer(
      xCreate: { box, _, _, result in
        result?.pointee = box.map { OpaquePointer($0) }
        return SQLITE_OK
      },
      xDelete: { _ in },
      xTokenize: { box, context, flags, text, count, emit in
        guard let box, let emit else { return SQLITE_MISUSE }
        let tokenizer = Unmanaged<Box>.fromOpaque(UnsafeRawPointer(box)).takeUnretainedValue().tokenizer
        let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
        return FTS5Bridge.cut(Array(bytes), tokenizer, flags) { term, flags, range in
          let text = term.baseAddress?.assumingMemoryBound(to: CChar.self)
          return emit(
            context, flags, text, Int32(term.count), Int32(range.lowerBound), Int32(range.upperBound))
        }
      })
    let box = Unmanaged.passRetained(Box(tokenizer))
    let status = api.pointee.xCreateTokenizer(api, name, box.toOpaque(), &methods) { box in
      if let box { Unmanaged<Box>.fromOpaque(box).release() }
    }
    guard status == SQLITE_OK else { throw Failure() }
  }

  /// Gives the tokens of a text to `emit`, until it says that something is wrong.
  private static func cut(
    _ bytes: [UInt8], _ tokenizer: any Tokenizer, _ flags: Int32,
    _ emit: (UnsafeRawBufferPointer, Int32, Range<Int>) -> Int32
  ) -> Int32 {
    let purpose: TokenPurpose = flags & FTS5_TOKENIZE_QUERY != 0 ? .query : .document
    var status = SQLITE_OK
    try? tokenizer.forEachToken(in: bytes.span.bytes, for: purpose) { term, place in
      guard status == SQLITE_OK else { return }
      let flags = place.step == 0 ? FTS5_TOKEN_COLOCATED : 0
      status = term.withUnsafeBytes { emit($0, flags, place.range) }
    }
    return status
  }

  private static func interface(of database: OpaquePointer?) -> UnsafeMutablePointer<fts5_api>? {
    var (api, statement): (UnsafeMutablePointer<fts5_api>?, OpaquePointer?)
    (api, statement) = (nil, nil)
    guard sqlite3_prepare_v2(database, "select fts5(?1)", -1, &statement, nil) == SQLITE_OK else { return nil }
    defer { sqlite3_finalize(statement) }
    withUnsafeMutablePointer(to: &api) {
      _ = sqlite3_bind_pointer(statement, 1, $0, "fts5_api_ptr", nil)
      _ = sqlite3_step(statement)
    }
    return api
  }
}
