// What an app in Swift 5 mode does with YapCompat.

import Foundation
import Testing
import YapCompat

@Suite("An app in Swift 5 mode") struct Swift5Tests {
  @Test("Rows and blocks that are not Sendable are taken") func oldApp() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("quire-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try OldStore(path: folder.appendingPathComponent("old.quire").path)
    await withCheckedContinuation { continuation in store.registerExtensions { continuation.resume() } }
    #expect(store.isReady)
    await withCheckedContinuation { continuation in
      store.send(["b", "a"], answerTo: nil) { continuation.resume() }
    }
    await withCheckedContinuation { continuation in store.send(["c"], answerTo: "a!") { continuation.resume() } }
    let texts = await withCheckedContinuation { continuation in store.list { continuation.resume(returning: $0) } }
    #expect(texts == ["a!", "b!", "c!"] && store.hookCount == 3 && store.askedCount >= 3)
    try store.connection.readWrite { $0.removeObject(forKey: "a!", inCollection: "messages") }
    let left = await withCheckedContinuation { continuation in store.list { continuation.resume(returning: $0) } }
    #expect(left == ["b!"] && store.lastError == nil)
    // Errors of calls without one of their own reach a block that captures the store.
    store.connection.permittedTransactions = .syncReadTransaction
    await withCheckedContinuation { continuation in store.send([], answerTo: nil) { continuation.resume() } }
    #expect(store.lastError != nil)
  }
}
