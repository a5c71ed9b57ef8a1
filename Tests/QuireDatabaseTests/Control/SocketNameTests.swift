// The file of a control socket: whose it may take the place of, and who may open it.

import Foundation
import QuireStorage
import QuireTesting
import Testing

@testable import QuireDatabase

@Suite struct SocketNameTests {
  private let folder: TestFolder
  private let db: Database
  private var path: String { "\(folder.path)-control" }

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do { try body() } catch { return (error as? DatabaseError)?.code }
    return nil
  }

  @Test func onlyTheUserMayConnect() throws {
    let control = try db.openControl()
    let mode = try FileManager.default.attributesOfItem(atPath: control.path)[.posixPermissions] as? Int
    #expect(mode == 0o600 && control.path == path)
    control.close()
    try db.close()
  }

  @Test func nothingIsOpenedWithoutACall() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(names.allSatisfy { !$0.hasSuffix("control") })
    #expect(try ControlClient.connect(to: path) == nil)
    try db.close()
  }

  @Test func aStaleSocketIsReplaced() throws {
    do { _ = try LocalSocket.bound(to: path) }
    #expect(folder.hasFile("test.quire-control"), "nobody listens there any more")
    #expect(try ControlClient.connect(to: path) == nil)
    let control = try db.openControl()
    #expect(try ControlClient.connect(to: path) != nil)
    // One that listens is left alone.
    #expect(code { _ = try self.db.openControl() } == .alreadyExists)
    #expect(try ControlClient.connect(to: path) != nil)
    control.close()
    try db.close()
  }

  @Test func otherFilesAreLeftAlone() throws {
    let file = try folder.makeFile("test.quire-control")
    #expect(code { _ = try self.db.openControl() } == .alreadyExists)
    #expect(try Data(contentsOf: file) == Data("something".utf8))
    try FileManager.default.removeItem(at: file)
    let target = try folder.makeFile("target")
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target)
    #expect(code { _ = try self.db.openControl() } == .alreadyExists)
    #expect(try Data(contentsOf: target) == Data("something".utf8))
    try db.close()
  }

  @Test func somebodyElsesNameIsNotTakenAway() throws {
    let control = try db.openControl()
    try FileManager.default.removeItem(atPath: path)
    let other = try LocalSocket.bound(to: path)
    control.close()
    withExtendedLifetime(other) { #expect(folder.hasFile("test.quire-control")) }
    try db.close()
  }

  @Test func pathsThatAreTooLongAreRefused() throws {
    let long = folder.url.path + "/" + String(repeating: "n", count: 120)
    do {
      _ = try db.openControl(at: long)
      Issue.record("a path of \(long.utf8.count) bytes was taken")
    } catch {
      #expect(error.code == .invalidOption && error.message.contains("\(LocalSocket.pathByteCount) bytes"))
    }
    #expect(code { _ = try self.db.openControl(at: "") } == .invalidOption)
    #expect(code { _ = try self.db.openControl(at: self.path, options: .init(connectionLimit: 0)) } == .invalidOption)
    #expect(code { _ = try self.db.openControl(at: "/nowhere/at/all") } == .inputOutput)
    #expect(code { _ = try Database.inMemory().openControl(at: self.path) } == .invalidOption)
    try db.close()
  }

  @Test func whatIsReadByAllNeedsNoSocket() throws {
    try db.close()
    let reader = try folder.open(Database.Options(isReadOnly: true))
    #expect(code { _ = try reader.openControl() } == .readOnly)
    try reader.close()
  }
}
