// The guide maps every call, and every call names the new one.

import Foundation
import Testing

@Suite struct GuideTests {
  /// Members that other protocols give their meaning, and wrapped bits.
  private static let passedOver: Set<String> = [
    "rawValue", "init(rawValue:)", "description", "encode(to:)", "init(from:)",
  ]
  /// Types whose members are parts of a message, and no calls.
  private static let plainTypes: Set<String> = ["YDBLogMessage", "DatabaseError.Code"]

  private static var repository: URL {
    (0..<3).reduce(URL(fileURLWithPath: #filePath)) { place, _ in place.deletingLastPathComponent() }
  }

  private static func members() throws -> [PublicMember] {
    let folder = repository.appendingPathComponent("Sources/YapCompat")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    return try names.sorted().flatMap { name in
      PublicMemberReader(try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)).members
    }.filter { !passedOver.contains($0.selector) && !plainTypes.contains($0.owner) }
  }

  private static func guide() throws -> String {
    let file = repository.appendingPathComponent("Sources/Quire/Quire.docc/ComingFromYapDatabase.md")
    return try String(contentsOf: file, encoding: .utf8)
  }

  @Test("Every public member stands in the guide, with its labels") func theGuideIsComplete() throws {
    let (members, guide) = (try Self.members(), try Self.guide())
    #expect(members.count > 300)
    for member in members {
      #expect(guide.contains("| `\(member.selector)` |"), "the guide does not map \(member.owner).\(member.selector)")
    }
  }

  @Test("Every call says what takes its place") func commentsNameTheNewCall() throws {
    let core: Set<String> = [
      "YapDatabase", "YapDatabaseConnection", "YapDatabaseReadTransaction", "YapDatabaseReadWriteTransaction",
    ]
    for member in try Self.members() where member.isCallable || core.contains(member.owner) {
      // What a protocol's extension does by default is explained at the requirement.
      if member.owner == "YapDatabaseRelationshipNode" { continue }
      let hasNewCall = member.comment.contains("New call:") || member.comment.contains("New type:")
      #expect(hasNewCall, "\(member.owner).\(member.selector) does not name the new call")
    }
  }

  @Test("The guide maps nothing that is not there") func theGuideIsTrue() throws {
    let selectors = Set(try Self.members().map(\.selector))
    let rows = try Self.guide().split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("` | ") }
    for row in rows {
      let columns = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard columns.count == 3, columns[1].hasPrefix("`"), columns[1].hasSuffix("`") else { continue }
      let selector = String(columns[1].dropFirst().dropLast())
      let isRequirement = selector.hasPrefix("yapDatabaseRelationship")
      #expect(selectors.contains(selector) || isRequirement, "the guide maps \(selector), which is not there")
    }
  }

  // MARK: All names

  private static func symbols() throws -> PublicSymbols {
    let folders = [
      "QuireStorage", "QuireDatabase", "QuireFullText", "QuireIndexes", "QuireRelationships", "QuireViews", "YapCompat",
    ]
    return try PublicSymbols(below: folders.map { repository.appendingPathComponent("Sources/\($0)") })
  }

  @Test("Every name in the tables is there, with its labels") func theNamesAreThere() throws {
    let span = GuideSpan(symbols: try Self.symbols())
    let names = GuideTables(try Self.guide(), columns: ["Here", "YapCompat", "New call"]).names
    #expect(names.count > 600)
    let missing = names.filter { !span.isThere($0.text, of: $0.owner) }.map { name in
      "line \(name.line): there is no \(name.text)\(name.owner.map { " of \($0)" } ?? "")"
    }
    #expect(missing == [])
  }

  @Test("Public symbols are read with their types") func symbolsAreRead() {
    let symbols = PublicSymbols(Self.sample)
    let span = GuideSpan(symbols: symbols)
    for name in [
      "Box", "Box.Options", "Box(_:at:)", "Box.options.size", "Box.Options.size", "Box.put(_:for:)", "Box.count",
      "Box.put", "Kind.odd(_:)", "Kind.even", "Holder.held", "[Box].sum(of:)", ".even", "put(_:for:)", "at:", "coun…",
      "…(_:for:)", "Alias.count",
      "Box.Options(size:)", "Box.Options()", "Alias(_:at:)", "Box(_:)", "Box(at:)",
    ] { #expect(span.isThere(name), "\(name)") }
    for name in [
      "Bax", "Box.Option", "Box(at:_:)", "Box.put(_:)",
      "Box.put(for:)", "Box.Options(length:)", "Box.hidden", "Holder.other", "[Box].sum()", "for:",
      "Box.options.count", "Alias(place:)", "local", "Box.commented", "inner",
    ] { #expect(!span.isThere(name), "\(name)") }
    #expect(span.isThere("held", of: "Box") && !span.isThere("sum(of:)", of: "Box"))
  }

  private static let sample = """
    /// A box. public func commented()
    public struct Box<Content: Sendable>: Holder
    where Content: Hashable {
      public private(set) var count = 0 { didSet { let local = 1 } }
      public let options: Options
      public init(
        _ content: Content = { "}" }, at place: (Int, String) = (1, "a,b:c"), fileID: StaticString = #fileID
      ) where Content: Equatable {
        func inner(_ text: String) {}
      }
      @discardableResult public mutating func put<Key>(_ content: [Key: Content], for key: Key) -> Bool { true }
      func hidden() {}
      /// Options.
      public struct Options {
        public var size: Int
        public init(size: Int = 1) {}
      }
    }
    public enum Kind { case even, odd(Int) }
    public protocol Holder { var held: Int { get } }
    public typealias Alias = Box
    extension Sequence where Element == Box { public func sum(of other: Int) -> Int { 0 } }
    """

  @Test("Declarations are read with their labels") func declarationsAreRead() {
    let text = """
      /// A class.
      public final class Sample {
        /// Does it. New call: `other`.
        @discardableResult
        public func run<Result>(
          _ block: (_ key: String, _ stop: inout Bool) throws -> Result, filter: ((String) -> Bool)? = nil
        ) -> Result {
        /// A value.
        public static let option = 1
        /// A value.
        public private(set) var count = 0
        public init() {}
        func hidden() {}
      """
    let members = PublicMemberReader(text).members
    #expect(members.map(\.selector) == ["run(_:filter:)", "count", "init()"])
    #expect(members.first?.owner == "Sample" && members.first?.comment == "Does it. New call: `other`.")
  }
}
